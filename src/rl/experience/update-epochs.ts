import { badOption, checkNames, checkSize, EspalierError, shown } from "../../core/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";

/** Options of {@link autoUpdateEpochs}. */
export interface AutoUpdateEpochsOptions {
  /** The approximate KL divergence to aim for with each rollout. Default: 0.015. */
  readonly target?: number | undefined;
  /** Default: 1 and 8. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Rollouts at the beginning that change nothing. Default: 2. */
  readonly warmup?: number | undefined;
  /** Rollouts after each change that change nothing. Default: 2. */
  readonly cooldown?: number | undefined;
  /** Initial update epochs. Default: 4, or the nearest between `min` and `max`. */
  readonly start?: number | undefined;
}

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
export function autoUpdateEpochs(options: AutoUpdateEpochsOptions = {}): UpdateEpochs {
  const kind = "autoUpdateEpochs";
  checkNames(kind, options, ["target", "min", "max", "warmup", "cooldown", "start"]);
  const { target = 0.015, warmup = 2, cooldown = 2 } = options;
  const min = checkSize(kind, "min", options.min ?? 1);
  const max = checkSize(kind, "max", options.max ?? Math.max(8, min));
  if (!(target > 0)) throw badOption(kind, `target is ${shown(target)}`, "give a number above 0");
  for (const [name, count] of Object.entries({ warmup, cooldown }))
    if (!(Number.isInteger(count) && count >= 0))
      throw badOption(kind, `${name} is ${shown(count)}`, "give a whole number from 0 on");
  const start = options.start ?? Math.min(Math.max(4, min), max);
  if (!(Number.isInteger(start) && min <= start && start <= max))
    throw badOption(
      kind,
      `start is ${shown(start)}`,
      `give a whole number from min (${min}) to max (${max})`,
    );

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
