import { badOption, EspalierError, type Options, option, resolveOptions } from "../../core/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";

const kind = "autoUpdateEpochs";
const table = {
  /** The approximate KL divergence to aim for with each rollout. Default: 0.015. */
  target: option.number({ above: 0, default: 0.015 }),
  /** Default: 1 and 8. */
  min: option.integer({ min: 1, default: 1 }),
  max: option.integer({ min: 1 }),
  /** Rollouts at the beginning that change nothing. Default: 2. */
  warmup: option.integer({ min: 0, default: 2 }),
  /** Rollouts after each change that change nothing. Default: 2. */
  cooldown: option.integer({ min: 0, default: 2 }),
  /** Initial update epochs. Default: 4, or the nearest between `min` and `max`. */
  start: option.integer({ min: 1 }),
};

/** The number of update epochs, tuned by how far the policy moves. */
export interface UpdateEpochs extends Stateful {
  readonly min: number;
  readonly max: number;
  /** Update epochs of the next rollout. */
  readonly epochs: number;
  /** Takes the means over the updates of a rollout. */
  observe(found: { readonly clipFraction: number; readonly kl: number }): void;
}

/**
 * Tunes update epochs: one fewer if more than 0.3 of the ratios were clipped or the divergence was above 1.3 times the
 * target; one more if it was below 0.7 times the target, and above 0.
 *
 * @example
 * ```ts
 * const task = onPolicyTask({ ...options, updateEpochs: autoUpdateEpochs({ target: 0.015, max: 8 }) });
 * ```
 */
export function autoUpdateEpochs(options: Options<typeof table> = {}): UpdateEpochs {
  const { target, min, warmup, cooldown, ...given } = resolveOptions(kind, options, table);
  const { max = Math.max(8, min) } = given;
  const { start = Math.min(Math.max(4, min), max) } = given;
  if (start < min || start > max)
    throw badOption(kind, `start is ${start}`, `give a whole number from min (${min}) to max (${max})`);

  let epochs = start;
  let rest = warmup;
  return {
    min,
    max,
    get epochs() {
      return epochs;
    },
    observe: ({ clipFraction, kl }) => {
      if (rest > 0) {
        rest--;
        return;
      }
      const wanted = epochs + step(clipFraction, kl, target);
      const next = Math.min(Math.max(wanted, min), max);
      if (next !== epochs) rest = cooldown;
      epochs = next;
    },
    getState: (): StateTree => ({ epochs, rest }),
    setState: (state) => {
      const given = (state ?? {}) as { readonly epochs?: unknown; readonly rest?: unknown };
      if (!isCount(given.epochs) || !isCount(given.rest) || given.epochs < min || given.epochs > max)
        throw new EspalierError(
          "STATE_INVALID",
          `${kind}: ${JSON.stringify(state)} is no state of update epochs from ${min} to ${max}`,
          { fix: "restore what the same settings saved: { epochs, rest }" },
        );
      epochs = given.epochs;
      rest = given.rest;
    },
  };
}

function step(clipFraction: number, kl: number, target: number): -1 | 0 | 1 {
  if (clipFraction > 0.3 || kl > 1.3 * target) return -1;
  return kl > 0 && kl < 0.7 * target ? 1 : 0;
}

const isCount = (x: unknown): x is number => typeof x === "number" && Number.isInteger(x) && x >= 0;
