import { EspalierError } from "../../core/index.ts";
import { np, scan, type Value, type ValueLike } from "../../engine/index.ts";
import { maskRows } from "../losses/loss.ts";

/** Inputs of {@link advantages}: [time, rows] each, except where noted. */
export interface AdvantageInputs {
  readonly rewards: Value;
  /** Value estimates of the observations before each step: [time, rows], or [time + 1, rows] with the last one's. */
  readonly values: Value;
  /** Value estimates of the observations after each step. Default: the next rows of `values`. */
  readonly nextValues?: Value | undefined;
  /** 1 (or true) where the episode terminates. */
  readonly terminated: Value;
  /** 1 (or true) where the episode ends, terminated or truncated. */
  readonly ends: Value;
  /** 1 for valid steps. Others have an advantage of 0 and stop the recursion. Default: all are valid. */
  readonly valid?: Value | undefined;
  readonly gamma: ValueLike;
  readonly lambda: ValueLike;
  /**
   * Importance ratio of the learning policy to the one that acted: exp of the difference of log-probabilities, best
   * clamped to +-10. Default: 1 everywhere, which gives GAE.
   */
  readonly ratio?: Value | undefined;
  /** V-trace's clips of the ratio in the temporal difference, and in the trace. Default: 1 each. */
  readonly rhoBar?: ValueLike | undefined;
  readonly cBar?: ValueLike | undefined;
  /**
   * True for log2(time) steps over the whole array; false for one loop over time, which is faster on xla on a CPU and
   * much slower elsewhere. Equal up to rounding. Default: true.
   */
  readonly parallel?: boolean | undefined;
}

/** Both [time, rows]. */
export interface Advantages {
  readonly advantages: Value;
  /** Targets of the value function: advantages + values. */
  readonly returns: Value;
}

/**
 * Generalized advantage estimates (GAE), or with a `ratio` their V-trace form for experience of another policy; inside
 * `compile`. A truncated episode bootstraps from the value of its last observation, a terminated one does not.
 *
 * @example
 * ```ts
 * const { advantages: a, returns } = advantages({
 *   rewards, values, terminated, ends, valid, // values [time + 1, rows], the others [time, rows]
 *   gamma: 0.99, lambda: 0.95,
 * });
 * ```
 */
export function advantages(inputs: AdvantageInputs): Advantages {
  const { rewards, gamma, lambda, ratio, rhoBar = 1, cBar = 1, parallel } = inputs;
  const [values, nextValues] = valuePairs(inputs);
  const f32 = (x: Value): Value => x.astype("f32");
  const goesOn = np.subtract(1, f32(inputs.terminated));
  const expected = rewards.add(np.multiply(nextValues, gamma).mul(goesOn)).sub(values);
  const reach = np.multiply(np.subtract(1, f32(inputs.ends)), np.multiply(gamma, lambda));
  const errors = ratio ? expected.mul(np.minimum(ratio, rhoBar)) : expected;
  const factors = ratio ? reach.mul(np.minimum(ratio, cBar)) : reach;
  const masked = (x: Value): Value => (inputs.valid ? maskRows(x, inputs.valid) : x);
  const found = recurrence(masked(errors), masked(factors), {
    reverse: true,
    ...(parallel !== undefined && { parallel }),
  });
  return { advantages: found, returns: found.add(values) };
}

function valuePairs({ rewards, values, nextValues }: AdvantageInputs): readonly [now: Value, next: Value] {
  const [time = 0] = rewards.shape;
  if (nextValues) return [values, nextValues];
  if (values.shape[0] === time + 1) return [np.slice(values, [0, time]), np.slice(values, [1, time + 1])];
  throw new EspalierError(
    "SHAPE_MISMATCH",
    `advantages: values are ${values.type.text} for rewards ${rewards.type.text}, and the last step's next value is missing`,
    { fix: "give values [time + 1, rows], or nextValues [time, rows]" },
  );
}

interface RecurrenceOptions {
  /** From the last step to the first. */
  readonly reverse?: boolean;
  /**
   * True for log2(steps) steps over the whole array, which on a GPU and on wasm cost a hundredth of a loop; false for
   * one loop, which xla on a CPU compiles to a few instructions a step. Equal up to rounding.
   */
  readonly parallel?: boolean;
}

/** y_t = x_t + f_t y_(t-1) along the first axis, with y = 0 before the first step. */
export function recurrence(inputs: Value, factors: Value, options: RecurrenceOptions = {}): Value {
  const { reverse = false, parallel = true } = options;
  const [steps = 0, ...shape] = inputs.shape;
  if (!parallel)
    return scan(
      (before: Value, at: { readonly x: Value; readonly f: Value }) => {
        const now = at.x.add(at.f.mul(before));
        return [now, now] as const;
      },
      np.zeros(shape),
      { x: inputs, f: factors },
      { reverse },
    )[1];
  // After a round, y_t covers the last `by` steps up to t, and f_t is the factor of everything before them.
  let [y, f] = [inputs, factors];
  for (let by = 1; by < steps; by *= 2) {
    y = y.add(f.mul(shifted(y, by, reverse)));
    if (2 * by < steps) f = f.mul(shifted(f, by, reverse));
  }
  return y;
}

/** x shifted by some steps in the direction of the recurrence, with zeros where there is nothing. */
function shifted(x: Value, by: number, reverse: boolean): Value {
  const [steps = 0, ...shape] = x.shape;
  const rest = shape.map(() => [0, 0] as const);
  return reverse
    ? np.pad(np.slice(x, [by, steps]), [[0, by], ...rest])
    : np.pad(np.slice(x, [0, steps - by]), [[by, 0], ...rest]);
}
