import { setImmediate } from "node:timers/promises";
import { memory } from "../../src/index.ts";

/**
 * Tensors that are really held: after a collection, and turns of the event loop for as long as its finds are freed in
 * them. Needs `--expose-gc`.
 */
export async function heldTensors(): Promise<number> {
  let held = Number.POSITIVE_INFINITY;
  for (let still = 0; still < 3; still++) {
    globalThis.gc?.();
    await setImmediate();
    const now = memory().tensors;
    if (now < held) still = 0;
    held = now;
  }
  return held;
}
