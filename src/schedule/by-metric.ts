import {
  badOption,
  checkMetricName,
  checkNames,
  EspalierError,
  followedCategories,
  shown,
} from "../core/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { Ramp } from "./ramps.ts";
import { checkCount, checkNumber } from "./units.ts";

/** Options of {@link byMetric}: mean, then transform, then moving average, then clamp. */
export interface ByMetricOptions {
  /** The metric in full: `train/loss`, `rollout/episode.return` or `validation/accuracy`. */
  readonly metric: string;
  /** The value until the metric has been seen. */
  readonly initial: number;
  /** Number of last epochs over which the metric is averaged. Default: 1. */
  readonly mean?: number | undefined;
  /** Computes the value from the metric. Default: the metric itself. */
  readonly transform?: ((metric: number) => number) | undefined;
  /** The share of the old value that stays each epoch, from `initial` on. Default: 0, which keeps nothing. */
  readonly ema?: number | undefined;
  /** The least and the greatest value. */
  readonly clamp?: readonly [least: number, greatest: number] | undefined;
}

/**
 * A number that follows a metric, anew at each epoch's end. Epochs without the metric, and values that are not
 * finite, change nothing.
 *
 * @example
 * ```ts
 * byMetric({ metric: "rollout/reward", mean: 5, transform: (r) => 0.1 * (1 - r), clamp: [0.001, 0.1], initial: 0.1 });
 * ```
 */
export function byMetric(options: ByMetricOptions): Ramp {
  const { metric, transform = (x: number) => x, ema = 0, initial, mean = 1, clamp } = checkOptions(options);
  const [least, greatest] = clamp ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  let seen: readonly number[] = [];
  let value = initial;
  return {
    units: [],
    at: () => Math.min(greatest, Math.max(least, value)),
    follows: [metric],
    observe(metrics) {
      const now = metrics[metric];
      if (now === undefined || !Number.isFinite(now)) return;
      seen = [...seen, now].slice(-mean);
      const next = transform(seen.reduce((sum, x) => sum + x, 0) / seen.length);
      if (Number.isFinite(next)) value = ema * value + (1 - ema) * next;
    },
    describe: () => {
      const parts = [
        `following ${metric}`,
        ...(mean > 1 ? [`its mean over ${mean} epochs`] : []),
        ...(options.transform ? ["transformed"] : []),
        ...(ema > 0 ? [`keeping ${ema} of the old value`] : []),
        ...(clamp ? [`from ${least} to ${greatest}`] : []),
        `${initial} at first`,
      ];
      return parts.join(", ");
    },
    state: {
      getState: () => ({ seen: [...seen], value }),
      setState(state) {
        const restored = checkState(metric, state);
        seen = restored.seen.slice(-mean);
        value = restored.value;
      },
    },
  };
}

function checkOptions(options: ByMetricOptions): ByMetricOptions {
  const kind = "byMetric";
  checkNames(kind, options, ["metric", "initial", "mean", "transform", "ema", "clamp"]);
  const { metric, initial, mean, transform, ema, clamp } = options;
  checkMetricName(`${kind}: metric`, metric, followedCategories);
  checkNumber(kind, "initial", initial);
  if (mean !== undefined) checkCount(kind, "mean", mean, "epochs", 1);
  if (transform !== undefined && typeof transform !== "function")
    throw badOption(
      kind,
      `transform is ${shown(transform)}, which is not a function`,
      "write transform: (x) => 1 - x",
    );
  if (ema !== undefined && (checkNumber(kind, "ema", ema) < 0 || ema >= 1))
    throw badOption(
      kind,
      `ema is ${ema}, which is not from 0 to below 1`,
      "give 0.9 for a slow, 0 for no average",
    );
  if (clamp === undefined) return options;
  if (!Array.isArray(clamp) || clamp.length !== 2)
    throw badOption(kind, `clamp is ${shown(clamp)}, which is not two numbers`, "write clamp: [0, 1]");
  const [least, greatest] = clamp.map((end) => checkNumber(kind, "an end of clamp", end)) as [number, number];
  if (least > greatest)
    throw badOption(kind, `clamp has ${least} before ${greatest}`, `write clamp: [${greatest}, ${least}]`);
  if (initial < least || initial > greatest)
    throw badOption(
      kind,
      `initial is ${initial}, outside clamp from ${least} to ${greatest}`,
      "give an initial value within clamp",
    );
  return options;
}

interface Remembered {
  readonly seen: readonly number[];
  readonly value: number;
}

function checkState(metric: string, state: StateTree): Remembered {
  const { seen, value } = (state ?? {}) as Partial<Remembered>;
  if (
    Array.isArray(seen) &&
    seen.every(Number.isFinite) &&
    typeof value === "number" &&
    Number.isFinite(value)
  )
    return { seen, value };
  throw new EspalierError("STATE_INVALID", `this is not a state of a ramp that follows ${metric}`, {
    fix: "restore what getState of the same ramp gave",
  });
}

/** The state of two parts, either of which may remember nothing. */
export function jointState(a: Stateful | undefined, b: Stateful | undefined): Stateful | undefined {
  if (!a && !b) return undefined;
  return {
    getState() {
      const first = a ? a.getState() : null;
      const second = b ? b.getState() : null;
      if (first instanceof Promise || second instanceof Promise) return Promise.all([first, second]);
      return [first, second];
    },
    setState(state) {
      const [first, second] = pair(state);
      const pending = [a?.setState(first), b?.setState(second)].filter((one) => one instanceof Promise);
      return pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined);
    },
  };
}

function pair(state: StateTree): readonly [StateTree, StateTree] {
  if (Array.isArray(state) && state.length === 2) return [state[0], state[1]];
  throw new EspalierError("STATE_INVALID", "this is not a state of two joined schedules", {
    fix: "restore what getState of the same schedules gave",
  });
}
