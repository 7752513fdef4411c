import { np, type Value } from "../engine/index.ts";

/** The moving average of what was and what is: `beta * old + (1 - beta) * now`. */
export const blend = (beta: Value, old: Value, now: Value): Value =>
  old.mul(beta).add(now.mul(np.subtract(1, beta)));

/**
 * 1 - beta^t: by how much a moving average that started at zero is too small. By way of expm1, because for beta near
 * 1 the difference itself would lose half of its digits in f32.
 */
export const correction = (beta: Value, t: Value): Value => np.expm1(np.log(beta).mul(t)).neg();
