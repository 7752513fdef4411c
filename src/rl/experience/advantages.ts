import { EspalierError } from "../../core/index.ts";
import { np, type Value, type ValueLike } from "../../engine/index.ts";
import { recurrence } from "./recurrence.ts";

/** What advantages follow from: values [time, rows] each, unless said otherwise. */
export interface AdvantageInputs {
  readonly rewards: Value;
  /** What was expected of the observation each step began with: [time, rows], or [time + 1, rows] with the last one's. */
  readonly values: Value;
  /** What is expected of the observation each step led to; left out, the rows of `values` after it. */
  readonly nextValues?: Value | undefined;
  /** 1 (or true) where the episode is over and nothing follows. */
  readonly terminated: Value;
  /** 1 (or true) where the episode ends, terminated or truncated. */
  readonly ends: Value;
  /** 1 for steps that count. Others have an advantage of 0, and nothing reaches through them. Default all. */
  readonly valid?: Value | undefined;
  readonly gamma: ValueLike;
  readonly lambda: ValueLike;
  /**
   * How likely the policy that learns takes the actions, relative to the one that took them: exp of the difference of
   * log-probabilities, which is best clamped to +-10. Left out it is 1 everywhere, and the result is GAE.
   */
  readonly ratio?: Value | undefined;
  /** How much a ratio counts at most in what is expected, and in how far it reaches. Default 1 each. */
  readonly rhoBar?: ValueLike | undefined;
  readonly cBar?: ValueLike | undefined;
  /**
   * In log2(time) steps over everything at once; false for one loop over time, which is the faster on xla on a CPU and
   * by far the slower elsewhere. The same up to rounding. Default true.
   */
  readonly parallel?: boolean | undefined;
}

/** Both [time, rows]. */
export interface Advantages {
  readonly advantages: Value;
  /** What values are to learn: advantages + values. */
  readonly returns: Value;
}

/**
 * How much better each step went than expected, inside `compile`: generalized advantage estimates, or with a `ratio`
 * their V-trace form for experience of another policy. A truncated episode is continued by the value of the
 * observation it led to, a terminated one is not.
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
  const [values, nextValues] = valuesOf(inputs);
  const f32 = (x: Value): Value => x.astype("f32");
  const goesOn = np.subtract(1, f32(inputs.terminated));
  const expected = rewards.add(np.multiply(nextValues, gamma).mul(goesOn)).sub(values);
  const reach = np.multiply(np.subtract(1, f32(inputs.ends)), np.multiply(gamma, lambda));
  const errors = ratio ? expected.mul(np.minimum(ratio, rhoBar)) : expected;
  const factors = ratio ? reach.mul(np.minimum(ratio, cBar)) : reach;
  // Chosen and not multiplied: whatever stands in steps that do not count reaches nothing.
  const counted = (x: Value): Value =>
    inputs.valid ? np.where(np.notEqual(inputs.valid, 0), x, np.zerosLike(x)) : x;
  const found = recurrence(counted(errors), counted(factors), {
    reverse: true,
    ...(parallel !== undefined && { parallel }),
  });
  return { advantages: found, returns: found.add(values) };
}

function valuesOf({ rewards, values, nextValues }: AdvantageInputs): readonly [now: Value, next: Value] {
  const [time = 0] = rewards.shape;
  if (nextValues) return [values, nextValues];
  if (values.shape[0] === time + 1) return [np.slice(values, [0, time]), np.slice(values, [1, time + 1])];
  throw new EspalierError(
    "SHAPE_MISMATCH",
    `advantages: values are ${values.type.text} for rewards ${rewards.type.text}, and the last step's next value is missing`,
    { fix: "give values [time + 1, rows], or nextValues [time, rows]" },
  );
}
