import { userError } from "../trace/location.ts";
import { defineOp } from "../trace/op.ts";
import { sameDims, shapeText, tensorType } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { inMemory, jaxName, jaxScalar } from "../wasm/dtype.ts";
import { hloType } from "../xla/writer.ts";
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
  stablehlo: (w, [x], { inputs, outputs, params }) => {
    const ranges = params.starts
      .map((from, d) => `${from}:${params.limits[d]}:${params.strides[d]}`)
      .join(", ");
    return [
      w.put(`stablehlo.slice ${x} [${ranges}] : (${hloType(inputs[0].type)}) -> ${hloType(outputs[0].type)}`),
    ];
  },
  wasm: (j, [x], { inputs, outputs, params }) => {
    let array = x;
    const { starts, limits, strides } = params;
    const from = inputs[0].shape;
    const to = outputs[0].shape;
    strides.forEach((step, d) => {
      const [start, limit, n, kept] = [starts[d], limits[d], from[d], to[d]] as [
        number,
        number,
        number,
        number,
      ];
      if (kept === n && step === 1) return;
      const pairs = (low: number, high: number): ([] | [number, number])[] =>
        array.shape.map((_, i) => (i === d ? [low, high] : []));
      if (step === 1) {
        array = array.slice(...pairs(start, limit));
        return;
      }
      // Every step-th element: fill up to whole groups of `step`, then keep the first of each group.
      const groups = array.shape.map((_, i) =>
        i === d ? [0, Math.max(0, start + kept * step - n)] : [0, 0],
      );
      array = j.numpy.pad(array, groups as [number, number][]);
      array = array.slice(...pairs(start, start + kept * step));
      const grouped = array.shape.flatMap((m, i) => (i === d ? [kept, step] : [m]));
      array = array.reshape(grouped);
      array = inMemory(j, array.slice(...grouped.map((_, i) => (i === d + 1 ? 0 : ([] as [])))));
    });
    return [array];
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
    const type = inputs[0].type;
    const fill = w.scalar(params.value, type.dtype);
    return [
      w.put(
        `stablehlo.pad ${x}, ${fill}, low = [${params.low.join(", ")}], high = [${params.high.join(", ")}], interior = [${params.interior.join(", ")}] : (${hloType(type)}, ${hloType(tensorType(type.dtype, []))}) -> ${hloType(outputs[0].type)}`,
      ),
    ];
  },
  wasm: (j, [x], { inputs, outputs, params }) => {
    const { dtype } = inputs[0].type;
    let array = inputs[0].node.op.cheap ? inMemory(j, x) : x;
    const { low, high, interior, value } = params;
    if (outputs[0].size === 0) {
      array.dispose();
      return [j.numpy.full([...outputs[0].shape], value, { dtype: jaxName(dtype) })];
    }
    const fill = (widths: readonly (readonly [number, number])[]) => {
      if (widths.every(([a, b]) => a === 0 && b === 0)) return;
      if (value === 0 && dtype !== "bool") {
        array = j.numpy.pad(array, widths as [number, number][]);
        return;
      }
      const inside = j.numpy.pad(
        j.numpy.full(array.shape, 1, { dtype: jaxName("i32") }),
        widths as [number, number][],
      );
      const padded =
        dtype === "bool"
          ? j.numpy.pad(array.astype(jaxName("i32")), widths as [number, number][]).notEqual(0)
          : j.numpy.pad(array, widths as [number, number][]);
      array = j.numpy.where(inside.notEqual(0), padded, jaxScalar(j, value, dtype));
    };
    interior.forEach((gap, d) => {
      const n = array.shape[d] as number;
      if (gap === 0 || n <= 1) return;
      const spread = array.shape.flatMap((m, i) => (i === d ? [m, 1] : [m]));
      array = array.reshape(spread);
      fill(spread.map((_, i) => [0, i === d + 1 ? gap : 0]));
      const joined = array.shape.flatMap((m, i) => (i === d ? [m * (gap + 1)] : i === d + 1 ? [] : [m]));
      array = array.reshape(joined);
      array = array.slice(...joined.map((m, i): [] | [number, number] => (i === d ? [0, m - gap] : [])));
      // jax-js misreads views of views of padded arrays: each ends here.
      array = inMemory(j, array);
    });
    fill(low.map((n, d) => [Math.max(0, n), Math.max(0, high[d] as number)]));
    const cuts = array.shape.map((m, d): [number, number] => [
      Math.max(0, -(low[d] as number)),
      m - Math.max(0, -(high[d] as number)),
    ]);
    if (cuts.some(([from, to], d) => from !== 0 || to !== array.shape[d])) array = array.slice(...cuts);
    return [inMemory(j, array)];
  },
});

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
