import { np, type Value } from "../../engine/index.ts";

/**
 * A key for each of so many environments, u32 [count, 2], from the one key of a step. Threefry makes unrelated numbers
 * of keys that differ by little, so counting does what splitting would, and hashes nothing. `purpose` parts the keys
 * that one environment needs in one step.
 */
export function environmentKeys(key: Value, count: number, purpose: number): Value {
  const first = np.slice(key, 0).add(np.iota([count]).astype("u32"));
  const second = np.bitwiseXor(np.slice(key, 1), np.full([], purpose, { dtype: "u32" }));
  return np.stack([first, np.broadcastTo(second, [count])], { axis: 1 });
}
