import { differentiate } from "../trace/differentiate.ts";
import { type DType, lowest } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { defineOp, type Op } from "../trace/op.ts";
import { type Shape, shapeText, type TensorType, tensorType } from "../trace/type.ts";
import { emit1, type Node, type Value } from "../trace/value.ts";
import { inMemory, jaxScalar, wrapU8 } from "../wasm/dtype.ts";
import { type HloWriter, hloScalar, hloType, i64s } from "../xla/writer.ts";
import { type ArrayPart, padArray, partOfArray } from "./array-parts.ts";
import { dilated, type Padding } from "./convolution.ts";
import { add, greater, select } from "./elementwise.ts";
import { checkDType } from "./rules.ts";
import { pad, sliceAlong, writePad } from "./slice.ts";

/** A window for every axis (1 where nothing is pooled) that moves by `strides` over the padded value. */
export interface PoolParams {
  readonly kind: "max" | "sum";
  readonly window: readonly number[];
  readonly strides: readonly number[];
  /** Padding never wins a maximum and adds nothing to a sum. */
  readonly padding: readonly Padding[];
}

/** Windows up to this length are put together from slices: several times faster on both engines, and more so backward. */
const longestFromSlices = 16;
const fromSlices = ({ window }: PoolParams): boolean => window.every((n) => n <= longestFromSlices);

const neutral = ({ kind }: PoolParams, dtype: DType): number => (kind === "sum" ? 0 : lowest(dtype));
const low = ({ padding }: PoolParams): number[] => padding.map(([before]) => before);
const high = ({ padding }: PoolParams): number[] => padding.map(([, behind]) => behind);
const padded = (shape: Shape, { padding }: PoolParams): number[] =>
  shape.map((n, d) => n + (padding[d]?.[0] ?? 0) + (padding[d]?.[1] ?? 0));
const windows = (n: number, window: number, stride: number): number =>
  n < window ? 0 : Math.floor((n - window) / stride) + 1;

function resultType(x: TensorType, params: PoolParams): TensorType {
  const { kind, window, strides, padding } = params;
  checkDType(`${kind} pool`, "the value", x, "number");
  const wrong = (what: string, fix: string) => userError("ARGUMENT_INVALID", `pool: ${what}`, fix);
  for (const [name, list] of Object.entries({ window, strides, padding }))
    if (list.length !== x.shape.length)
      throw wrong(
        `${name} has ${list.length} entries for the ${x.shape.length} axes of ${shapeText(x.shape)}`,
        "give one for each axis: a window of 1 leaves an axis as it is",
      );
  if (![...window, ...strides].every((n) => Number.isInteger(n) && n >= 1))
    throw wrong("windows and strides must be whole numbers from 1 on", "use 1 for none");
  if (!padding.flat().every((n) => Number.isInteger(n) && n >= 0))
    throw wrong("padding must be whole numbers from 0 on", "give [low, high] for each axis");
  return tensorType(
    x.dtype,
    padded(x.shape, params).map((n, d) => windows(n, window[d] as number, strides[d] as number)),
  );
}

/** Arguments of pooling, for any representation of an array. */
interface Pieces<T> {
  part(x: T, shape: Shape, part: ArrayPart): T;
  combine(earlier: T, later: T, shape: Shape): T;
  /** Called on each array that was cut to parts. */
  done?(x: T): void;
}

/**
 * Pools a padded array by slices, one axis after the other from the last, so that a window of n by m takes n + m
 * slices. Earlier elements stand before later ones in every combination.
 */
function overWindows<T>(x: T, from: Shape, { window, strides }: PoolParams, pieces: Pieces<T>): T {
  let array = x;
  const shape = [...from];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const [length, stride] = [window[axis] as number, strides[axis] as number];
    if (length === 1 && stride === 1) continue;
    const count = windows(shape[axis] as number, length, stride);
    let parts = Array.from({ length }, (_, k) => pieces.part(array, shape, { axis, from: k, stride, count }));
    pieces.done?.(array);
    shape[axis] = count;
    // By pairs, as a tree is log n deep where a chain is n: its derivative does not compute the same over and over.
    while (parts.length > 1)
      parts = parts.flatMap((part, i) => {
        const next = parts[i + 1];
        if (i % 2 === 1) return [];
        return [next === undefined ? part : pieces.combine(part, next, shape)];
      });
    array = parts[0] as T;
  }
  return array;
}

const partOfValue = (x: Value, _shape: Shape, { axis, from, stride, count }: ArrayPart): Value =>
  sliceAlong(x, axis, from, from + dilated(count, stride), stride);

function derivative({ inputs, outputs, params }: Node<PoolParams>, ct: Value): Value | undefined {
  const [x] = inputs;
  if (x.size === 0 || ct.size === 0) return undefined;
  const none = x.shape.map(() => 0);
  if (params.kind === "sum" && !fromSlices(params)) {
    // An element's cotangent is the sum over the windows it lies in, which is a sum pool of stride 1.
    const { window, strides } = params;
    const before = low(params).map((n, d) => (window[d] as number) - 1 - n);
    const behind = x.shape.map(
      (n, d) =>
        n +
        (window[d] as number) -
        1 -
        dilated(outputs[0].shape[d] as number, strides[d] as number) -
        (before[d] as number),
    );
    const spread = pad(
      ct,
      0,
      before,
      behind,
      strides.map((s) => s - 1),
    );
    const pairs = none.map((): Padding => [0, 0]);
    return pool(spread, { kind: "sum", window, strides: none.map(() => 1), padding: pairs });
  }
  const combine =
    params.kind === "sum"
      ? add
      : (earlier: Value, later: Value) => select(greater(later, earlier), later, earlier);
  const whole = pad(x, neutral(params, x.dtype), low(params), high(params), none);
  const y = overWindows(whole, whole.shape, params, { part: partOfValue, combine });
  return differentiate([y], [ct], [x], add)[0];
}

const poolOp: Op<PoolParams> = defineOp<PoolParams>({
  name: "pool",
  type: ([x], params) => [resultType(x, params)],
  derivative: (node, [ct]) => [ct && derivative(node, ct)],
  batch: ([x], { kind, window, strides, padding }) => [
    pool(x.value, { kind, window: [1, ...window], strides: [1, ...strides], padding: [[0, 0], ...padding] }),
  ],
  stablehlo: (w, [x], { inputs, outputs, params }) => {
    const [from, to] = [inputs[0].type, outputs[0].type];
    const start = neutral(params, from.dtype);
    if (from.size === 0 || to.size === 0) return [w.splat(start, to)];
    if (fromSlices(params)) return [slicesText(w, x, from, params)];
    return [writeWindows(w, x, [from, to], { ...params, op: combining(params), start })];
  },
  wasm: (j, [x], { inputs, outputs, params }) => {
    const { dtype, shape, size } = outputs[0];
    const start = neutral(params, dtype);
    if (inputs[0].size === 0 || size === 0) {
      x.dispose();
      return [j.numpy.broadcastTo(jaxScalar(j, start, dtype), [...shape])];
    }
    const isPadded = params.padding.flat().some((n) => n > 0);
    const whole = padArray(j, isPadded ? inMemory(j, x) : x, params.padding, start, dtype);
    const result = fromSlices(params)
      ? overWindows(whole, whole.shape, params, {
          part: (array, _shape, part) => partOfArray(j, array.ref, part),
          combine: (a, b) => (params.kind === "sum" ? a.add(b) : j.numpy.maximum(a, b)),
          done: (array) => array.dispose(),
        })
      : j.lax.reduceWindow(
          whole,
          (v) => (params.kind === "sum" ? v.sum() : v.max()),
          [...params.window],
          [...params.strides],
        );
    return [wrapU8(j, result, dtype)];
  },
});

function slicesText(w: HloWriter, x: string, from: TensorType, params: PoolParams): string {
  const typed = (shape: Shape) => ({ dtype: from.dtype, shape });
  const shape = padded(from.shape, params);
  const fill = w.scalar(neutral(params, from.dtype), from.dtype);
  const widths = { low: low(params), high: high(params), interior: shape.map(() => 0) };
  const whole = writePad(w, x, fill, from, widths, tensorType(from.dtype, shape));
  return overWindows(whole, shape, params, {
    part: (array, within, { axis, from: first, stride, count }) => {
      const ranges = within.map((n, d) =>
        d === axis ? `${first}:${first + dilated(count, stride)}:${stride}` : `0:${n}:1`,
      );
      const to = within.map((n, d) => (d === axis ? count : n));
      return w.apply("slice", [array], [typed(within)], typed(to), ` [${ranges.join(", ")}]`);
    },
    combine: (a, b, within) => w.each(combining(params), [a, b], typed(within)),
  });
}

const combining = ({ kind }: PoolParams): string => (kind === "sum" ? "add" : "maximum");

/** Writes a combination of all elements of each window and gives the name of its result. */
export function writeWindows(
  w: HloWriter,
  x: string,
  [from, to]: readonly [TensorType, TensorType],
  windows: Omit<PoolParams, "kind" | "strides"> & {
    readonly op: string;
    readonly start: number;
    readonly strides?: readonly number[];
  },
): string {
  const { op, start, window, strides, padding } = windows;
  const { dtype } = from;
  const init = w.scalar(start, dtype);
  const pairs = padding.map(shapeText).join(", ");
  const attributes = [
    `window_dimensions = ${i64s(window)}`,
    ...(strides ? [`window_strides = ${i64s(strides)}`] : []),
    `padding = dense<[${pairs}]> : tensor<${padding.length}x2xi64>`,
  ];
  const types = `(${hloType(from)}, ${hloScalar(dtype)}) -> ${hloType(to)}`;
  return w.put(
    w.withBody(
      "reduce_window",
      [x, init],
      [dtype, dtype],
      (inner, args) => [[inner.each(op, args, { dtype, shape: [] }), dtype]],
      `{${attributes.join(", ")}} : ${types}`,
    ),
  );
}

/**
 * The largest element, or the sum, of each window. In the derivative of the largest, the first of equals gets all.
 *
 * @example
 * ```ts
 * const halves = pool(x, { kind: "max", window: [1, 2], strides: [1, 2], padding: [[0, 0], [0, 0]] });
 * ```
 */
export const pool = (x: Value, params: PoolParams): Value => emit1(poolOp, [x], params);
