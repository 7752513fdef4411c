import { badOption, checkOptions, oneOf, perAxis } from "../np/arguments.ts";
import { promoted, toNumber, type ValueLike } from "../np/operands.ts";
import { convolution, dilated, type Padding, transposedKernel } from "../ops/convolution.ts";
import { userError } from "../trace/location.ts";
import { type Shape, shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";

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

/**
 * Padding around the spatial axes. `"valid"`: nothing. `"same"`: so much that a stride of 1 keeps the length (a
 * stride of s gives ceil(length / s)), the odd one behind. A number: that many on every side. A list: `[low, high]` for
 * each spatial axis.
 */
export type PaddingOption = "same" | "valid" | number | readonly Padding[];

/** One spatial axis and the window that moves over it. */
export interface Reach {
  readonly length: number;
  /** Reach of the window, dilation included. */
  readonly window: number;
  readonly stride: number;
}

/** The option's value for each of `n` axes. */
export function eachPadding(
  op: string,
  given: PaddingOption,
  n: number,
): readonly ("same" | "valid" | Padding)[] {
  const all = <T>(one: T) => Array.from({ length: n }, () => one);
  if (typeof given === "string") return all<"same" | "valid">(oneOf(op, "padding", given, ["same", "valid"]));
  const pairs = typeof given === "number" ? all<Padding>([given, given]) : given;
  const fits =
    Array.isArray(pairs) &&
    pairs.length === n &&
    pairs.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(Number.isInteger));
  if (!fits)
    throw badOption(
      op,
      `padding is ${JSON.stringify(given)}, for ${n} spatial ${n === 1 ? "axis" : "axes"}`,
      `use "same", "valid", a whole number, or ${n} pairs [low, high]`,
    );
  return pairs;
}

/** Padding before and behind each axis. */
export function paddingPairs(op: string, given: PaddingOption, axes: readonly Reach[]): readonly Padding[] {
  return eachPadding(op, given, axes.length).map((padding, i): Padding => {
    if (padding === "valid") return [0, 0];
    if (padding !== "same") return padding;
    const { length, window, stride } = axes[i] as Reach;
    const total = Math.max(0, (Math.ceil(length / stride) - 1) * stride + window - length);
    return [Math.floor(total / 2), Math.ceil(total / 2)];
  });
}

/** Options of convolutions; what has one entry for each spatial axis may be one number for all. */
export interface ConvOptions {
  /** Step of the window. Default: 1. */
  readonly strides?: number | readonly number[];
  /** Default: `"valid"`. */
  readonly padding?: PaddingOption;
  /** The distance between the window's elements (atrous convolution). Default: 1. */
  readonly dilation?: number | readonly number[];
  /** Groups of channels that do not see each other: as many as channels make it depthwise. */
  readonly groups?: number;
  /** The distance between the input's elements, with zeros between them. Default: 1. */
  readonly inputDilation?: number | readonly number[];
  /** Channels last by default: `"NWC"`, `"NHWC"` or `"NDHWC"` by the number of axes. */
  readonly layout?: Layout;
}

interface Prepared {
  readonly x: Value;
  readonly w: Value;
  readonly places: Places;
  /** The spatial lengths of the kernel. */
  readonly window: readonly number[];
}

function prepare(op: string, input: ValueLike, kernel: ValueLike, layout: Layout | undefined): Prepared {
  const [x, w] = promoted(op, [input, kernel], toNumber) as [Value, Value];
  const places = placesOf(op, layout, x.shape);
  if (w.ndim !== x.ndim)
    throw userError(
      "SHAPE_MISMATCH",
      `${op}: the input has shape ${shapeText(x.shape)} and the kernel has shape ${shapeText(w.shape)}`,
      places.channels === 1
        ? "a kernel is [out, in / groups, ...window] for channels first"
        : "a kernel is [...window, in / groups, out] for channels last",
    );
  return { x, w, places, window: places.kernel.slice(2).map((axis) => w.shape[axis] as number) };
}

function checkGroups(op: string, groups: number): number {
  if (!(Number.isInteger(groups) && groups >= 1))
    throw badOption(op, `groups is ${groups}`, "give a whole number from 1 on");
  return groups;
}

/**
 * Convolution over the spatial axes, without flipping the kernel, as in JAX and PyTorch. The kernel is
 * `[...window, in / groups, out]` for channels last, `[out, in / groups, ...window]` for channels first.
 *
 * @example
 * ```ts
 * const y = nn.conv(images, kernel, { padding: "same", strides: 2 }); // [n, h, w, in], [3, 3, in, out]
 * ```
 */
export function conv(input: ValueLike, kernel: ValueLike, options: ConvOptions = {}): Value {
  checkOptions("conv", options, ["strides", "padding", "dilation", "groups", "inputDilation", "layout"]);
  const { x, w, places, window } = prepare("conv", input, kernel, options.layout);
  const n = window.length;
  const strides = perAxis("conv", "strides", options.strides ?? 1, n);
  const rhsDilation = perAxis("conv", "dilation", options.dilation ?? 1, n);
  const lhsDilation = perAxis("conv", "inputDilation", options.inputDilation ?? 1, n);
  const given = options.padding ?? "valid";
  if (given === "same" && lhsDilation.some((by) => by !== 1))
    throw badOption(
      "conv",
      'padding "same" says nothing about a dilated input',
      "give the padding as pairs [low, high], or use nn.convTranspose",
    );
  const reach = places.spatial.map((axis, i) => ({
    length: dilated(x.shape[axis] as number, lhsDilation[i] as number),
    window: dilated(window[i] as number, rhsDilation[i] as number),
    stride: strides[i] as number,
  }));
  const padding = paddingPairs("conv", given, reach);
  reach.forEach(({ length, window: reached }, i) => {
    const [low, high] = padding[i] as Padding;
    if (length > 0 && reached > length + low + high)
      throw userError(
        "SHAPE_MISMATCH",
        `conv: the input ${shapeText(x.shape)} is ${length + low + high} long on axis ${places.spatial[i]} with its padding, and the kernel ${shapeText(w.shape)} reaches over ${reached}`,
        'use a smaller kernel or dilation, or more padding (padding: "same" always fits)',
      );
  });
  const spec = [0, places.channels, ...places.spatial];
  return convolution(x, w, {
    strides,
    padding,
    lhsDilation,
    rhsDilation,
    groups: checkGroups("conv", options.groups ?? 1),
    lhsSpec: spec,
    rhsSpec: places.kernel,
    outSpec: spec,
  });
}

/** Options of {@link convTranspose}; what has one entry for each spatial axis may be one number for all. */
export interface ConvTransposeOptions {
  /** Ratio of the result's length to the input's. Default: 1. */
  readonly strides?: number | readonly number[];
  /**
   * The padding of the convolution this one turns around, so that it takes away: `"same"` gives length * stride,
   * `"valid"` (the default) length * stride + max(window - stride, 0), `[low, high]` gives
   * (length - 1) * stride + window - low - high.
   */
  readonly padding?: PaddingOption;
  readonly dilation?: number | readonly number[];
  readonly groups?: number;
  readonly layout?: Layout;
  /** The kernel is that of the convolution which is turned around: its in and out swap and its window is reversed. */
  readonly transposeKernel?: boolean;
}

/** JAX's rule for how much stands around the spread-out input. */
function transposePadding(given: "same" | "valid" | Padding, window: number, stride: number): Padding {
  if (given === "same") {
    const total = window + stride - 2;
    const low = stride > window - 1 ? window - 1 : Math.ceil(total / 2);
    return [low, total - low];
  }
  if (given === "valid") return [window - 1, stride - 1 + Math.max(window - stride, 0)];
  return [window - 1 - given[0], window - 1 - given[1]];
}

/**
 * Transposed (fractionally strided) convolution: makes the spatial axes longer, as `jax.lax.conv_transpose` does. The
 * kernel is laid out as in {@link conv}, unless `transposeKernel` says that it is the other convolution's: then it
 * gives what PyTorch and Keras do.
 *
 * @example
 * ```ts
 * const larger = nn.convTranspose(x, kernel, { strides: 2, padding: "same" }); // twice as high and wide
 * ```
 */
export function convTranspose(
  input: ValueLike,
  kernel: ValueLike,
  options: ConvTransposeOptions = {},
): Value {
  const op = "convTranspose";
  checkOptions(op, options, ["strides", "padding", "dilation", "groups", "layout", "transposeKernel"]);
  const { x, w, places, window } = prepare(op, input, kernel, options.layout);
  const strides = perAxis(op, "strides", options.strides ?? 1, window.length);
  const rhsDilation = perAxis(op, "dilation", options.dilation ?? 1, window.length);
  const groups = checkGroups(op, options.groups ?? 1);
  const padding = eachPadding(op, options.padding ?? "valid", window.length).map((given, i) =>
    transposePadding(given, dilated(window[i] as number, rhsDilation[i] as number), strides[i] as number),
  );
  const [out, into, ...rest] = places.kernel as [number, number, ...number[]];
  const spec = [0, places.channels, ...places.spatial];
  return convolution(x, options.transposeKernel ? transposedKernel(w, places.kernel, groups) : w, {
    strides: strides.map(() => 1),
    padding,
    lhsDilation: strides,
    rhsDilation,
    groups,
    lhsSpec: spec,
    rhsSpec: options.transposeKernel ? [into, out, ...rest] : places.kernel,
    outSpec: spec,
  });
}
