import {
  badOption,
  checkMetricName,
  EspalierError,
  followedCategories,
  type Options,
  option,
  resolveOptions,
  type Settings,
} from "../core/index.ts";
import type { StateTree } from "../state/index.ts";
import type { Ramp } from "./ramps.ts";

const kind = "byMetric";
const required = { required: true } as const;
const table = {
  /** The metric in full: `train/loss`, `rollout/episode.return` or `validation/accuracy`. */
  metric: option.text(required),
  /** The value until the metric has been seen. */
  initial: option.number(required),
  /** Number of last epochs over which the metric is averaged. Default: 1. */
  mean: option.integer({ min: 1, default: 1 }),
  /** Computes the value from the metric. Default: the metric itself. */
  transform: option.function<(metric: number) => number>("a function of the metric: (x) => 1 - x", {}),
  /** The share of the old value that stays each epoch, from `initial` on. Default: 0, which keeps nothing. */
  ema: option.number({ min: 0, below: 1, default: 0 }),
  /** The least and the greatest value. */
  clamp: option.made<readonly [least: number, greatest: number]>(
    "two numbers: [0, 1]",
    (value) => Array.isArray(value) && value.length === 2 && value.every(Number.isFinite),
    {},
  ),
};

/** Options of {@link byMetric}: mean, then transform, then moving average, then clamp. */
export interface ByMetricOptions extends Options<typeof table> {}

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
  const { metric, transform = (x: number) => x, ema, initial, mean, clamp } = settingsOf(options);
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

function settingsOf(options: ByMetricOptions): Settings<typeof table> {
  const settings = resolveOptions(kind, options, table);
  const { metric, initial, clamp } = settings;
  checkMetricName(`${kind}: metric`, metric, followedCategories);
  if (clamp === undefined) return settings;
  const [least, greatest] = clamp;
  if (least > greatest)
    throw badOption(kind, `clamp has ${least} before ${greatest}`, `write clamp: [${greatest}, ${least}]`);
  if (initial < least || initial > greatest)
    throw badOption(
      kind,
      `initial is ${initial}, outside clamp from ${least} to ${greatest}`,
      "give an initial value within clamp",
    );
  return settings;
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
