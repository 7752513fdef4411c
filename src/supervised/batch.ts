import { treeMap } from "../core/index.ts";
import { np, type Value } from "../engine/index.ts";

/** Inputs and targets, of values while tracing; each may be a tree. Without targets they follow from the inputs. */
export interface Batch<X = unknown, Y = unknown> {
  readonly x: X;
  readonly y: Y;
}

/** The examples that `size` entries of an order from `start` on name. */
export function gatherRows<T>(data: T, order: Value, start: Value, size: number): T {
  const rows = np.dynamicSlice(order, [start], [size]);
  return treeMap((array: Value) => np.take(array, rows, { axis: 0 }), data);
}

/** `size` examples from `start` on, as they lie. */
export function sliceRows<T>(data: T, start: Value, size: number): T {
  return treeMap(
    (array: Value) =>
      np.dynamicSlice(array, [start, ...array.shape.slice(1).map(() => 0)], [size, ...array.shape.slice(1)]),
    data,
  );
}
