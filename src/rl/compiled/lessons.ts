import { np, random, type Value, vmap } from "../../engine/index.ts";

/**
 * A lesson for each key, i32, drawn by shares: f32 [lessons], none below 0, whose sum need not be exactly 1. A share of
 * 0 is never drawn.
 */
export function drawLessons(keys: Value, shares: Value): Value {
  const upTo = np.cumsum(shares);
  const drawn = vmap((key: Value) => random.uniform(key))(keys).mul(np.slice(upTo, -1));
  const passed = np.lessEqual(np.slice(upTo, ":-1"), np.expandDims(drawn, 1));
  return np.sum(passed, { axis: 1, dtype: "i32" });
}
