import { badOption, oneOf } from "../np/options.ts";
import { userError } from "../trace/location.ts";
import type { Shape } from "../trace/type.ts";
import { shapeText } from "../trace/type.ts";

/** Order of the axes of images and the like: N examples, C channels, D depth, H height, W width. */
export type Layout = "NWC" | "NHWC" | "NDHWC" | "NCW" | "NCHW" | "NCDHW";

const layouts: readonly Layout[] = ["NWC", "NHWC", "NDHWC", "NCW", "NCHW", "NCDHW"];

/** Positions of the axes of an input and its kernel; batch is always the first. */
export interface Places {
  readonly channels: number;
  readonly spatial: readonly number[];
  /** Positions of out, in and the spatial axes of a kernel: HWIO with channels last, OIHW with channels first. */
  readonly kernel: readonly number[];
}

/** The axes of an input of this shape: channels stand last unless the layout says that they come second. */
export function placesOf(op: string, layout: Layout | undefined, shape: Shape): Places {
  const n = shape.length - 2;
  if (n < 1)
    throw userError(
      "SHAPE_MISMATCH",
      `${op}: the input has shape ${shapeText(shape)}`,
      "it takes examples, one or more spatial axes, and channels: add axes of length 1 where they are missing",
    );
  const first = layout !== undefined && oneOf(op, "layout", layout, layouts)[1] === "C";
  if (layout !== undefined && layout.length !== shape.length)
    throw badOption(
      op,
      `layout "${layout}" names ${layout.length} axes, but the input has shape ${shapeText(shape)}`,
      `use a layout of ${shape.length} letters, or leave it out: channels then stand last`,
    );
  const spatial = Array.from({ length: n }, (_, i) => i + (first ? 2 : 1));
  return first
    ? { channels: 1, spatial, kernel: [0, 1, ...spatial] }
    : { channels: n + 1, spatial, kernel: [n + 1, n, ...spatial.map((axis) => axis - 1)] };
}
