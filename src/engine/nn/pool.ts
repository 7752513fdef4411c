import { badOption, checkOptions, perAxis } from "../np/arguments.ts";
import { floating, operand, type ValueLike, wide } from "../np/operands.ts";
import { literalArray, splat } from "../ops/constant.ts";
import { div, mul } from "../ops/elementwise.ts";
import { type PoolParams, pool } from "../ops/pool.ts";
import { broadcastInDim } from "../ops/shape.ts";
import { userError } from "../trace/location.ts";
import { type Shape, shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { type Layout, type PaddingOption, paddingPairs, placesOf } from "./conv.ts";

/** Options of pooling; what has one entry for each spatial axis may be one number for all. */
export interface PoolOptions {
  /** Size of the window. */
  readonly window: number | readonly number[];
  /** Step of the window. Default: its own size. */
  readonly strides?: number | readonly number[];
  /** Default: `"valid"`. */
  readonly padding?: PaddingOption;
  /** Channels last by default: `"NWC"`, `"NHWC"` or `"NDHWC"` by the number of axes. */
  readonly layout?: Layout;
}

/** The row's parameters, which cover all axes. */
function paramsOf(op: string, shape: Shape, kind: PoolParams["kind"], options: PoolOptions): PoolParams {
  const { spatial } = placesOf(op, options.layout, shape);
  if (options.window === undefined)
    throw badOption(op, "the window is missing", "give its size: { window: 2 }");
  const window = perAxis(op, "window", options.window, spatial.length);
  const strides = perAxis(op, "strides", options.strides ?? window, spatial.length);
  const reach = spatial.map((axis, i) => ({
    length: shape[axis] as number,
    window: window[i] as number,
    stride: strides[i] as number,
  }));
  const padding = paddingPairs(op, options.padding ?? "valid", reach);
  reach.forEach(({ length, window: size }, i) => {
    const [low, high] = padding[i] as readonly [number, number];
    if (low < 0 || high < 0) throw badOption(op, `padding [${low}, ${high}] is negative`, "slice the input");
    if (length > 0 && size > length + low + high)
      throw userError(
        "SHAPE_MISMATCH",
        `${op}: the input ${shapeText(shape)} is ${length + low + high} long on axis ${spatial[i]} with its padding, and the window is ${size}`,
        'use a smaller window, or more padding (padding: "same" always fits)',
      );
  });
  const all = <T>(list: readonly T[], none: T): T[] =>
    shape.map((_, axis) => (spatial.includes(axis) ? (list[spatial.indexOf(axis)] as T) : none));
  return { kind, window: all(window, 1), strides: all(strides, 1), padding: all(padding, [0, 0]) };
}

const names = ["window", "strides", "padding", "layout"];

/**
 * The largest element of each window. Padding never wins; the first of equal elements gets the gradient, as in PyTorch.
 *
 * @example
 * ```ts
 * const half = nn.maxPool(images, { window: 2 }); // [n, h, w, c] to [n, h / 2, w / 2, c]
 * ```
 */
export function maxPool(input: ValueLike, options: PoolOptions): Value {
  checkOptions("maxPool", options, names);
  const x = operand("maxPool", input);
  return pool(x, paramsOf("maxPool", x.shape, "max", options));
}

/** Options of {@link avgPool}. */
export interface AvgPoolOptions extends PoolOptions {
  /** True if padding counts as zeros in the mean (the default, as in PyTorch and Flax); false leaves it out. */
  readonly countIncludePad?: boolean;
}

/**
 * The mean of each window.
 *
 * @example
 * ```ts
 * const smooth = nn.avgPool(images, { window: 3, strides: 1, padding: "same", countIncludePad: false });
 * ```
 */
export function avgPool(input: ValueLike, options: AvgPoolOptions): Value {
  checkOptions("avgPool", options, [...names, "countIncludePad"]);
  const params = paramsOf("avgPool", operand("avgPool", input).shape, "sum", options);
  return wide(floating("avgPool", input), (x) => {
    const sums = pool(x, params);
    if (options.countIncludePad ?? true) {
      const count = params.window.reduce((product, n) => product * n, 1);
      return mul(sums, splat(1 / count, x.dtype, sums.shape));
    }
    return div(sums, counts(x, sums, params));
  });
}

/** Number of input elements in each window: along each axis a list, multiplied. */
function counts(x: Value, sums: Value, { window, strides, padding }: PoolParams): Value {
  const ones = splat(1, sums.dtype, sums.shape);
  return sums.shape.reduce((product, windows, axis) => {
    const [size, stride, [low]] = [window[axis] as number, strides[axis] as number, padding[axis] ?? [0]];
    if (size === 1) return product;
    const inside = Array.from({ length: windows }, (_, i) => {
      const from = i * stride - low;
      return Math.max(1, Math.min(from + size, x.shape[axis] as number) - Math.max(from, 0));
    });
    const along = broadcastInDim(literalArray(inside, sums.dtype, [windows]), sums.shape, [axis]);
    return mul(product, along);
  }, ones);
}
