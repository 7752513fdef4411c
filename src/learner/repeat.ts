import { treeMap } from "../core/index.ts";
import { np, scan, type Value } from "../engine/index.ts";

/**
 * A body so many times over, as one loop with a run-time count. With room for one only there is no loop: nothing else
 * could run it then, and what does not like loops (convolutions on a CPU) is spared one.
 */
export function repeat<C, X, Y>(
  capacity: number,
  count: Value,
  init: C,
  xs: X,
  body: (carry: C, x: X, index: Value) => readonly [carry: C, y: Y],
): readonly [carry: C, ys: Y] {
  if (capacity > 1)
    return scan((carry: C, x: X, index: Value) => body(carry, x, index), init, xs, {
      length: count,
      maxLength: capacity,
    });
  const first = treeMap((stack: Value) => np.reshape(stack, stack.shape.slice(1)), xs);
  const [carry, y] = body(init, first, np.zeros([], { dtype: "i32" }));
  return [carry, treeMap((value: Value) => np.expandDims(value, 0), y)];
}
