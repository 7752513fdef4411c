import { np, type Value } from "../../../engine/index.ts";

/** A turn in two numbers: whole multiples of the first lose no digits in f32. */
const turn = 6.28125;
const turnRest = 2 * Math.PI - turn;

/** The same angle between -pi and pi. */
export function wrapAngle(angle: Value): Value {
  const turns = np.round(angle.mul(1 / (2 * Math.PI)));
  return angle.sub(turns.mul(turn)).sub(turns.mul(turnRest));
}
