import { isFloat } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { defineOp, type Op } from "../trace/op.ts";
import { sameDims, shapeText, type TensorType } from "../trace/type.ts";
import { emit, type Value } from "../trace/value.ts";
import { inMemory } from "../wasm/dtype.ts";
import { type HloWriter, hloType } from "../xla/writer.ts";
import { iota, zerosLike } from "./constant.ts";
import { lastAxisPermutation, rowNumbers } from "./gather.ts";
import { batchedValue, checkAxis } from "./rules.ts";
import { scatterSet } from "./scatter.ts";
import { inversePermutation, transpose } from "./shape.ts";

interface SortParams {
  readonly axis: number;
}

function checkAlike(types: readonly TensorType[]): void {
  const [keys] = types as [TensorType];
  types.forEach((type, i) => {
    if (!sameDims(type.shape, keys.shape))
      throw userError(
        "SHAPE_MISMATCH",
        `sort: the keys have shape ${shapeText(keys.shape)} and argument ${i} has shape ${shapeText(type.shape)}`,
        "what is sorted along must have the shape of the keys",
      );
  });
}

const sortOp: Op<SortParams> = defineOp<SortParams>({
  name: "sort",
  type: (types) => {
    checkAlike(types);
    return types;
  },
  derivative: ({ inputs, params: { axis } }, cotangents) => {
    const from = lastAxis(argsort(inputs[0], axis), axis);
    return inputs.map((_, i) => {
      const ct = cotangents[i];
      if (!ct) return undefined;
      // Every element goes back to where it came from; a permutation, so all are written once.
      const sorted = lastAxis(ct, axis);
      const back = scatterSet(zerosLike(sorted), from, sorted, sorted.ndim - 1, { distinct: true });
      return transpose(back, inversePermutation(lastAxisPermutation(ct.ndim, axis)));
    });
  },
  batch: (inputs, { axis }, size) =>
    sort(
      inputs.map((input) => batchedValue(input, size)),
      axis + 1,
    ),
  stablehlo: (w, names, { inputs, params }) => {
    const types = inputs.map((input) => hloType(input.type)).join(", ");
    const text = w.withBody(
      "sort",
      names,
      inputs.flatMap(({ dtype }) => [dtype, dtype]),
      (inner, [a, b]) => [[comesBefore(inner, a, b, inputs[0]), "bool"]],
      `{dimension = ${params.axis} : i64, is_stable = true} : (${types}) -> (${types})`,
    );
    return inputs.length === 1 ? [w.put(text)] : w.putMany(inputs.length, text);
  },
  wasm: (j, arrays, { inputs, params }) => {
    const { shape, ndim, size } = inputs[0];
    const perm = lastAxisPermutation(ndim, params.axis);
    const moved = perm.map((d) => shape[d] as number);
    const length = shape[params.axis] as number;
    const flat = arrays.map((array) => array.transpose(perm).reshape([size / length, length]));
    // Its argsort keeps the order of equals, puts NaN last and takes -0 for 0.
    const order = inMemory(j, (flat[0] as (typeof arrays)[0]).ref).argsort(-1);
    const at = rowNumbers(j, order, [size / length, length], 1).reshape([size]);
    const sorted = flat.map((array) =>
      j.numpy
        .take(array.reshape([size]), at.ref, 0)
        .reshape(moved)
        .transpose(inversePermutation(perm)),
    );
    at.dispose();
    return sorted;
  },
});

/** Writes whether key `a` belongs before key `b`: NaN is behind every number, and -0 is 0. */
function comesBefore(w: HloWriter, a: string, b: string, { dtype }: Value): string {
  const compare = (direction: string, x: string, y: string) =>
    w.compare(direction, x, y, { dtype, shape: [] });
  const smaller = compare("LT", a, b);
  if (!isFloat(dtype)) return smaller;
  const bool = { dtype: "bool", shape: [] } as const;
  const onlyLast = w.each("and", [compare("EQ", a, a), compare("NE", b, b)], bool);
  return w.each("or", [smaller, onlyLast], bool);
}

const lastAxis = (x: Value, axis: number): Value => transpose(x, lastAxisPermutation(x.ndim, axis));

/**
 * Sorts the first of several values of one shape along an axis, ascending, and moves the others along with it. Equal
 * keys keep their order; NaN comes last.
 */
export function sort(operands: readonly Value[], axis: number): readonly Value[] {
  const [keys] = operands;
  if (!keys) throw userError("ARGUMENT_MISSING", "sort: nothing to sort", "pass at least one value");
  const at = checkAxis("sort", axis, keys.ndim);
  checkAlike(operands.map((operand) => operand.type));
  const nothing = keys.size === 0 || keys.shape[at] === 1;
  return nothing ? operands : emit(sortOp, operands, { axis: at });
}

/** The indices (i32) along an axis that sort `x`, ascending; equals keep their order and NaN comes last. */
export function argsort(x: Value, axis: number): Value {
  const at = checkAxis("argsort", axis, x.ndim);
  return sort([x, iota("i32", x.shape, at)], at)[1] as Value;
}
