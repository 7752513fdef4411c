import { userError } from "../trace/location.ts";
import type { Shape } from "../trace/type.ts";
import { shapeText } from "../trace/type.ts";

/** The shape two shapes are repeated to, counted from the last axis; an error of `op` where there is none. */
export function broadcastShapes(op: string, a: Shape, b: Shape): Shape {
  if (a === b || b.length === 0) return a;
  if (a.length === 0) return b;
  const [long, short] = a.length >= b.length ? [a, b] : [b, a];
  const offset = long.length - short.length;
  return long.map((n, axis) => {
    const m = axis < offset ? 1 : (short[axis - offset] as number);
    if (n === m || m === 1) return n;
    if (n === 1) return m;
    const [inA, inB] = long === a ? [n, m] : [m, n];
    throw userError(
      "SHAPE_MISMATCH",
      `${op}: shapes ${shapeText(a)} and ${shapeText(b)} do not broadcast: axis ${axis} has length ${inA} in one and ${inB} in the other`,
      "axes must be equally long or 1, counted from the last: reshape, slice or np.expandDims one of them",
    );
  });
}
