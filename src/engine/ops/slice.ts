import { userError } from "../trace/location.ts";
import { defineOp, type JaxArray } from "../trace/op.ts";
import { sameDims, shapeText, type TensorType, tensorType } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { inMemory, jaxName } from "../wasm/dtype.ts";
import type { HloWriter } from "../xla/writer.ts";
import { padArray, partOfArray, spreadArray } from "./array-parts.ts";
import { checkShape } from "./shape.ts";

interface SliceParams {
  readonly starts: readonly number[];
  readonly limits: readonly number[];
  readonly strides: readonly number[];
}

const sliceOp = defineOp<SliceParams>({
  name: "slice",
  type: ([x], { starts, limits, strides }) => {
    const shape = x.shape.map((n, d) => {
      const [from, to, step] = [starts[d] as number, limits[d] as number, strides[d] as number];
      if (!(from >= 0 && from <= to && to <= n && step > 0))
        throw userError(
          "SLICE_OUT_OF_RANGE",
          `slice: ${from} to ${to} by ${step} on axis ${d} of ${shapeText(x.shape)}`,
          `stay between 0 and ${n} with a positive step`,
        );
      return Math.ceil((to - from) / step);
    });
    return [tensorType(x.dtype, shape)];
  },
  derivative: ({ inputs, outputs, params }, [ct]) => {
    const [x] = inputs;
    if (!ct) return [undefined];
    const { starts, strides } = params;
    const covered = outputs[0].shape.map((n, d) => (n === 0 ? 0 : (n - 1) * (strides[d] as number) + 1));
    const high = x.shape.map((n, d) => n - (starts[d] as number) - (covered[d] as number));
    return [
      pad(
        ct,
        0,
        starts,
        high,
        strides.map((s) => s - 1),
      ),
    ];
  },
  batch: ([x], { starts, limits, strides }, size) => [
    slice(x.value, [0, ...starts], [size, ...limits], [1, ...strides]),
  ],
  stablehlo: (w, [x], { inputs, outputs, params: { starts, limits, strides } }) => {
    const ranges = starts.map((from, d) => `${from}:${limits[d]}:${strides[d]}`);
    return [w.apply("slice", [x], inputs, outputs[0], ` [${ranges.join(", ")}]`)];
  },
  wasm: (j, [x], { outputs, params: { starts, strides } }) => {
    const part = strides.reduce<JaxArray>((array, stride, axis) => {
      const [from, count] = [starts[axis] as number, outputs[0].shape[axis] as number];
      const cut = partOfArray(j, array, { axis, from, stride, count });
      return stride === 1 ? cut : inMemory(j, cut);
    }, x);
    return [part];
  },
});

/** Elements from `starts` up to `limits`, every `strides`-th. */
export function slice(
  x: Value,
  starts: readonly number[],
  ends: readonly number[],
  strides?: readonly number[],
): Value {
  const steps = strides ?? starts.map(() => 1);
  const whole = starts.every((s) => s === 0) && sameDims(ends, x.shape) && steps.every((s) => s === 1);
  return whole ? x : emit1(sliceOp, [x], { starts, limits: ends, strides: steps });
}

/** Elements from `from` up to `to` along one axis, every `stride`-th. */
export const sliceAlong = (x: Value, axis: number, from: number, to: number, stride = 1): Value =>
  slice(
    x,
    x.shape.map((_, d) => (d === axis ? from : 0)),
    x.shape.map((n, d) => (d === axis ? to : n)),
    x.shape.map((_, d) => (d === axis ? stride : 1)),
  );

interface PadParams {
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly interior: readonly number[];
}

const padOp = defineOp<PadParams & { readonly value: number }>({
  name: "pad",
  type: ([x], { low, high, interior }) => {
    const shape = x.shape.map((n, d) => {
      const inner = n === 0 ? 0 : n + (n - 1) * (interior[d] as number);
      return inner + (low[d] as number) + (high[d] as number);
    });
    checkShape("pad", shape);
    return [tensorType(x.dtype, shape)];
  },
  derivative: ({ params }, [ct]) => {
    if (!ct) return [undefined];
    const { low, high, interior } = params;
    const none = low.map(() => 0);
    // Undo the outer padding (negative padding cuts, so its undoing adds zeros), then take every kept element.
    const cut = pad(
      ct,
      0,
      low.map((n) => -n),
      high.map((n) => -n),
      none,
    );
    return [
      slice(
        cut,
        none,
        cut.shape,
        interior.map((n) => n + 1),
      ),
    ];
  },
  batch: ([x], { value, low, high, interior }) => [
    pad(x.value, value, [0, ...low], [0, ...high], [0, ...interior]),
  ],
  stablehlo: (w, [x], { inputs, outputs, params }) => {
    const fill = w.scalar(params.value, inputs[0].dtype);
    return [writePad(w, x, fill, inputs[0].type, params, outputs[0].type)];
  },
  wasm: (j, [x], { inputs, outputs, params }) => {
    const { dtype } = inputs[0].type;
    let array = inputs[0].node.op.cheap ? inMemory(j, x) : x;
    const { low, high, interior, value } = params;
    if (outputs[0].size === 0) {
      array.dispose();
      return [j.numpy.full([...outputs[0].shape], value, { dtype: jaxName(dtype) })];
    }
    interior.forEach((gap, d) => {
      if (gap === 0) return;
      // jax-js misreads views of views of padded arrays: each ends here.
      array = inMemory(j, spreadArray(j, array, d, gap + 1, value, dtype));
    });
    const widths = low.map((n, d) => [Math.max(0, n), Math.max(0, high[d] as number)] as const);
    array = padArray(j, array, widths, value, dtype);
    const cuts = array.shape.map((m, d): [number, number] => [
      Math.max(0, -(low[d] as number)),
      m - Math.max(0, -(high[d] as number)),
    ]);
    if (cuts.some(([from, to], d) => from !== 0 || to !== array.shape[d])) array = array.slice(...cuts);
    return [inMemory(j, array)];
  },
});

/** Writes a pad and gives the name of its result. */
export function writePad(
  w: HloWriter,
  x: string,
  fill: string,
  from: TensorType,
  { low, high, interior }: PadParams,
  to: TensorType,
): string {
  const widths = `low = ${shapeText(low)}, high = ${shapeText(high)}, interior = ${shapeText(interior)}`;
  return w.apply("pad", [x, fill], [from, { dtype: from.dtype, shape: [] }], to, `, ${widths}`);
}

/** Adds `value` before, behind and between the elements; negative widths cut. */
export function pad(
  x: Value,
  value: number,
  low: readonly number[],
  high: readonly number[],
  interior: readonly number[],
): Value {
  const nothing = [low, high, interior].every((widths) => widths.every((n) => n === 0));
  return nothing ? x : emit1(padOp, [x], { value, low, high, interior });
}
