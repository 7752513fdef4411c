import { userError } from "../trace/location.ts";
import { type Batched, defineOp, type JaxArray, type Op } from "../trace/op.ts";
import { type Shape, sameDims, shapeText, sizeOf, type TensorType, tensorType } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { jaxName, jaxScalar } from "../wasm/dtype.ts";
import { iota, splat, zerosLike } from "./constant.ts";
import { add, max, min, mul } from "./elementwise.ts";
import type { None } from "./elementwise-rows.ts";
import { clampArray, gather, upTo } from "./gather.ts";
import { batchedValue } from "./rules.ts";
import { scatterSet } from "./scatter.ts";
import { broadcastInDim, reshape } from "./shape.ts";

function checkWindow(op: string, x: TensorType, sizes: Shape, starts: readonly TensorType[]): void {
  const fits =
    sizes.length === x.shape.length && sizes.every((n, d) => n >= 0 && n <= (x.shape[d] as number));
  if (!fits)
    throw userError(
      "SHAPE_MISMATCH",
      `${op}: a part of shape ${shapeText(sizes)} does not fit into ${shapeText(x.shape)}`,
      "give one size an axis, none larger than that axis",
    );
  if (starts.length !== sizes.length)
    throw userError(
      "ARGUMENT_INVALID",
      `${op}: ${starts.length} starts for the ${sizes.length} axes of ${shapeText(x.shape)}`,
      "give one start for each axis",
    );
  const wrong = starts.find((start) => start.dtype !== "i32" || start.shape.length !== 0);
  if (wrong)
    throw userError(
      "DTYPE_MISMATCH",
      `${op}: a start is ${wrong.text}, but starts are scalars of i32`,
      'convert first: start.astype("i32")',
    );
}

const types = (values: readonly Value[]): TensorType[] => values.map((value) => value.type);

interface SliceSizes {
  readonly sizes: Shape;
}

const dynamicSliceOp: Op<SliceSizes> = defineOp<SliceSizes>({
  name: "dynamicSlice",
  type: ([x, ...starts], { sizes }) => {
    checkWindow("dynamicSlice", x, sizes, starts);
    return [tensorType(x.dtype, sizes)];
  },
  derivative: ({ inputs: [x, ...starts] }, [ct]) =>
    ct ? [dynamicUpdateSlice(zerosLike(x), ct, starts), ...starts.map(() => undefined)] : [],
  batch: ([x, ...starts], { sizes }, size) => {
    if (!starts.some((start) => start.batched)) {
      const all = [splat(0, "i32"), ...starts.map((start) => start.value)];
      return [dynamicSlice(x.value, all, [size, ...sizes])];
    }
    const shape = x.batched ? x.value.shape.slice(1) : x.value.shape;
    const { rows, flat } = window(shape, sizes, starts, size);
    return [gather(reshape(x.value, x.batched ? [size, ...flat] : flat), rows, x.batched ? 1 : 0)];
  },
  stablehlo: (w, names, { inputs, outputs, params }) => [
    w.apply("dynamic_slice", names, inputs, outputs[0], `, sizes = ${shapeText(params.sizes)}`),
  ],
  wasm: (j, [x, ...starts], { inputs, params }) => {
    let part: JaxArray = x;
    params.sizes.forEach((count, d) => {
      const start = starts[d] as JaxArray;
      const room = (inputs[0].shape[d] as number) - count;
      if (room === 0) {
        start.dispose();
        return;
      }
      const along = j.numpy.arange(0, count, 1, { dtype: jaxName("i32") });
      part = j.numpy.take(part, along.add(clampArray(j, start, room)), d);
    });
    return [part];
  },
});

/**
 * The part of `x` of shape `sizes` that begins at `starts`, one i32 scalar an axis; starts are moved so that the part
 * fits.
 */
export function dynamicSlice(x: Value, starts: readonly Value[], sizes: Shape): Value {
  if (sameDims(sizes, x.shape)) return x;
  if (sizeOf(sizes) > 0) return emit1(dynamicSliceOp, [x, ...starts], { sizes });
  checkWindow("dynamicSlice", x.type, sizes, types(starts));
  return splat(0, x.dtype, sizes);
}

const dynamicUpdateSliceOp: Op<None> = defineOp<None>({
  name: "dynamicUpdateSlice",
  type: ([x, update, ...starts]) => {
    checkWindow("dynamicUpdateSlice", x, update.shape, starts);
    if (x.dtype !== update.dtype)
      throw userError(
        "DTYPE_MISMATCH",
        `dynamicUpdateSlice: the value is ${x.text} and the update is ${update.text}`,
        `convert the update: update.astype("${x.dtype}")`,
      );
    return [x];
  },
  derivative: ({ inputs: [, update, ...starts] }, [ct]) =>
    ct
      ? [
          dynamicUpdateSlice(ct, zerosLike(update), starts),
          dynamicSlice(ct, starts, update.shape),
          ...starts.map(() => undefined),
        ]
      : [],
  batch: ([x, update, ...starts], _params, size) => {
    const [whole, part] = [batchedValue(x, size), batchedValue(update, size)];
    if (!starts.some((start) => start.batched))
      return [dynamicUpdateSlice(whole, part, [splat(0, "i32"), ...starts.map((start) => start.value)])];
    const { rows, flat } = window(whole.shape.slice(1), part.shape.slice(1), starts, size);
    const written = scatterSet(reshape(whole, [size, ...flat]), rows, part, 1, { distinct: true });
    return [reshape(written, whole.shape)];
  },
  stablehlo: (w, names, { inputs, outputs }) => [w.apply("dynamic_update_slice", names, inputs, outputs[0])],
  wasm: (j, [x, update, ...starts], { inputs }) => {
    const [whole, part] = [inputs[0].shape, inputs[1].shape];
    let spread: JaxArray = update;
    let inside: JaxArray | undefined;
    part.forEach((count, d) => {
      const start = starts[d] as JaxArray;
      const length = whole[d] as number;
      if (count === length) {
        start.dispose();
        return;
      }
      const along = j.numpy.arange(0, length, 1, { dtype: jaxName("i32") });
      const offset = along.sub(clampArray(j, start, length - count));
      const here = j.numpy.logicalAnd(
        offset.ref.greaterEqual(jaxScalar(j, 0, "i32")),
        offset.ref.less(jaxScalar(j, count, "i32")),
      );
      const mask = here.reshape(whole.map((_, i) => (i === d ? length : 1)));
      inside = inside ? j.numpy.logicalAnd(inside, mask) : mask;
      // One row alone is repeated by `where` itself.
      if (count > 1) spread = j.numpy.take(spread, clampArray(j, offset, count - 1), d);
      else offset.dispose();
    });
    return [inside ? j.numpy.where(inside, spread, x) : spread];
  },
});

/** `x` with `update` written over the part that begins at `starts`, which are moved so that it fits. */
export function dynamicUpdateSlice(x: Value, update: Value, starts: readonly Value[]): Value {
  if (update.type === x.type) return update;
  if (update.size > 0) return emit1(dynamicUpdateSliceOp, [x, update, ...starts], {});
  checkWindow("dynamicUpdateSlice", x.type, update.shape, types(starts));
  return x;
}

/**
 * A window with a start of its own for each example, as rows of a flat value: the leading axes up to the last one the
 * window does not fill become one axis. `rows` numbers them, [size, those axes of the window].
 */
function window(
  shape: Shape,
  sizes: Shape,
  starts: readonly Batched[],
  size: number,
): { readonly rows: Value; readonly flat: Shape } {
  const lead = shape.reduce((last, n, d) => (n === sizes[d] ? last : d + 1), 0);
  const counts = [size, ...sizes.slice(0, lead)];
  let rows = splat(0, "i32", counts);
  for (const d of upTo(lead)) {
    const room = (shape[d] as number) - (sizes[d] as number);
    const start = batchedValue(starts[d] as Batched, size);
    const fitting = max(min(start, splat(room, "i32", [size])), splat(0, "i32", [size]));
    const at = add(broadcastInDim(fitting, counts, [0]), iota("i32", counts, d + 1));
    rows = add(rows, mul(at, splat(sizeOf(shape.slice(d + 1, lead)), "i32", counts)));
  }
  return { rows, flat: [sizeOf(shape.slice(0, lead)), ...shape.slice(lead)] };
}
