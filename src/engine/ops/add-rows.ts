import type { Jax, JaxArray } from "../trace/op.ts";
import { inMemory } from "../wasm/dtype.ts";

/**
 * Rows added up at their positions, zero elsewhere; positions out of range are dropped. jax-js has no scatter among
 * its functions, but the derivative of take is one. `like` has the shape of the result and is not computed.
 */
export function addRows(j: Jax, like: JaxArray, positions: JaxArray, rows: JaxArray): JaxArray {
  const at = inMemory(j, positions);
  const [taken, back] = j.vjp((x: JaxArray) => j.numpy.take(x, at, 0), [like]);
  taken.dispose();
  const [sums] = back(inMemory(j, rows)) as [JaxArray];
  return sums;
}
