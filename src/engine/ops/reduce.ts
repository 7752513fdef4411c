import { type DType, highest, isFloat, lowest } from "../trace/dtype.ts";
import { defineOp, type Jax, type JaxArray, lacking, type Op, type Several } from "../trace/op.ts";
import { shapeText, type TensorType, tensorType } from "../trace/type.ts";
import { emit1, type Node, type Value } from "../trace/value.ts";
import { jaxName, jaxScalar, wrapU8 } from "../wasm/dtype.ts";
import { argExtremum as argExtremumOf, sumOver } from "../wasm/functions.ts";
import { type HloWriter, hloScalar, hloType, i64s } from "../xla/writer.ts";
import { splat } from "./constant.ts";
import { convert } from "./convert.ts";
import { div, equal, mul, select } from "./elementwise.ts";
import { checkDType, type DTypeRule } from "./rules.ts";
import { broadcastInDim, reshape } from "./shape.ts";

interface Axes {
  readonly axes: readonly number[];
}

const kept = (type: TensorType, axes: readonly number[]): readonly number[] =>
  type.shape.filter((_, i) => !axes.includes(i));

/** Repeats a reduced value over the axes it lost. */
export function unreduce(y: Value, like: Value, axes: readonly number[]): Value {
  const dims = like.shape.map((_, i) => i).filter((i) => !axes.includes(i));
  return broadcastInDim(y, like.shape, dims);
}

function reduction(row: {
  readonly name: string;
  readonly accepts: DTypeRule;
  readonly identity: (dtype: DType) => number;
  readonly hlo: string;
  readonly wasm: (j: Jax, x: JaxArray, axes: number[], dtype: DType) => JaxArray;
  readonly derivative: (node: Node<Axes>, ct: Value) => Value;
}): (x: Value, axes: readonly number[]) => Value {
  const op: Op<Axes> = defineOp<Axes>({
    name: row.name,
    type: ([x], { axes }) => {
      checkDType(row.name, "the value", x, row.accepts);
      return [tensorType(x.dtype, kept(x, axes))];
    },
    derivative: (node, [ct]) => [ct && row.derivative(node, ct)],
    batch: ([x], { axes }) => [emit1(op, [x.value], { axes: axes.map((a) => a + 1) })],
    stablehlo: (w, [x], { inputs, outputs, params }) => {
      const { dtype } = inputs[0];
      const init = w.scalar(row.identity(dtype), dtype);
      const across = `applies stablehlo.${row.hlo} across dimensions = ${shapeText(params.axes)}`;
      const types = `(${hloType(inputs[0])}, ${hloScalar(dtype)}) -> ${hloType(outputs[0])}`;
      return [w.put(`stablehlo.reduce(${x} init: ${init}) ${across} : ${types}`)];
    },
    wasm: (j, [x], { inputs, outputs, params }) => {
      if (inputs[0].size === 0) {
        x.dispose();
        const { dtype, shape } = outputs[0];
        return [j.numpy.broadcastTo(jaxScalar(j, row.identity(dtype), dtype), [...shape])];
      }
      return [row.wasm(j, x, [...params.axes], inputs[0].dtype)];
    },
  });
  return (x, axes) => {
    if (axes.length === 0) return x;
    // Nothing is put together along axes of length 1, and jax-js fails on such booleans when others join them.
    const long = axes.filter((axis) => x.shape[axis] !== 1);
    return long.length === 0 ? reshape(x, kept(x.type, axes)) : emit1(op, [x], { axes });
  };
}

/** Ties share the cotangent equally, as the true derivative is not defined there. */
function extremumDerivative({ inputs, outputs, params }: Node<Axes>, ct: Value): Value {
  const [x] = inputs;
  const chosen = convert(equal(x, unreduce(outputs[0], x, params.axes)), x.dtype);
  const count = reduceSum(chosen, params.axes);
  return mul(chosen, unreduce(div(ct, count), x, params.axes));
}

/**
 * jax-js adds up four at a time as floats where all it loads are floats, also for integers computed from them, and
 * then fails on the type of the sum. A zero that is loaded as an integer keeps it from that.
 */
const summable = (j: Jax, x: JaxArray, dtype: DType): JaxArray =>
  x.add(j.numpy.array(dtype === "i32" ? new Int32Array(1) : new Uint32Array(1), { dtype: jaxName(dtype) }));

export const reduceSum = reduction({
  name: "reduceSum",
  accepts: "number",
  identity: () => 0,
  hlo: "add",
  wasm: (j, x, axes, dtype) =>
    isFloat(dtype) ? sumOver(x, axes) : wrapU8(j, summable(j, x, dtype).sum(axes), dtype),
  derivative: ({ inputs, params }, ct) => unreduce(ct, inputs[0], params.axes),
});

export const reduceMax = reduction({
  name: "reduceMax",
  accepts: "number",
  identity: lowest,
  hlo: "maximum",
  wasm: (_j, x, axes) => x.max(axes),
  derivative: extremumDerivative,
});

export const reduceMin = reduction({
  name: "reduceMin",
  accepts: "number",
  identity: highest,
  hlo: "minimum",
  wasm: (_j, x, axes) => x.min(axes),
  derivative: extremumDerivative,
});

export const reduceProd = reduction({
  name: "reduceProd",
  accepts: "number",
  identity: () => 1,
  hlo: "multiply",
  wasm: (j, x, axes, dtype) => wrapU8(j, x.prod(axes), dtype),
  derivative: ({ inputs, outputs, params }, ct) => {
    const [x] = inputs;
    const { axes } = params;
    // Product of all others: the quotient where nothing is 0; where one element is 0, only that one has a derivative.
    const zero = equal(x, splat(0, x.dtype, x.shape));
    const safe = select(zero, splat(1, x.dtype, x.shape), x);
    const zeros = unreduce(reduceSum(convert(zero, x.dtype), axes), x, axes);
    const others = unreduce(reduceProd(safe, axes), x, axes);
    const none = splat(0, x.dtype, x.shape);
    const one = splat(1, x.dtype, x.shape);
    const whenOneZero = select(zero, others, none);
    const whenSomeZero = select(equal(zeros, one), whenOneZero, none);
    const factor = select(equal(zeros, none), div(unreduce(outputs[0], x, axes), safe), whenSomeZero);
    return mul(unreduce(ct, x, axes), factor);
  },
});

const noDerivative = (): Value => {
  throw new Error("booleans carry no cotangents");
};

export const reduceAnd = reduction({
  name: "reduceAnd",
  accepts: "bool",
  identity: () => 1,
  hlo: "and",
  wasm: (_j, x, axes) => x.all(axes),
  derivative: noDerivative,
});

export const reduceOr = reduction({
  name: "reduceOr",
  accepts: "bool",
  identity: () => 0,
  hlo: "or",
  wasm: (_j, x, axes) => x.any(axes),
  derivative: noDerivative,
});

interface ArgParams {
  readonly axis: number;
  readonly kind: "max" | "min";
}

const argOp: Op<ArgParams> = defineOp<ArgParams>({
  name: "argExtremum",
  type: ([x], { axis, kind }) => {
    checkDType(`arg${kind}`, "the value", x, "number");
    return [tensorType("i32", kept(x, [axis]))];
  },
  derivative: lacking("an index has no derivative"),
  batch: ([x], { axis, kind }) => [emit1(argOp, [x.value], { axis: axis + 1, kind })],
  stablehlo: (w, [x], { inputs, outputs, params }) => {
    const [from] = inputs;
    const { dtype, shape } = from;
    const { axis, kind } = params;
    const indexType = { dtype: "i32", shape } as const;
    const index = w.put(`stablehlo.iota dim = ${axis} : ${hloType(indexType)}`);
    const worst = (kind === "max" ? lowest : highest)(dtype);
    const init = [w.scalar(worst, dtype), w.scalar(0, "i32")];
    const outs = `(${hloType({ dtype, shape: outputs[0].shape })}, ${hloType(outputs[0])})`;
    const types = `(${hloType(from)}, ${hloType(indexType)}, ${hloScalar(dtype)}, ${hloScalar("i32")}) -> ${outs}`;
    const text = w.withBody(
      "reduce",
      [x, index, ...init],
      [dtype, "i32", dtype, "i32"],
      (inner, args) => betterOf(inner, args, dtype, kind),
      `{dimensions = ${i64s([axis])}} : ${types}`,
    );
    return [w.putMany(2, text)[1] as string];
  },
  wasm: (j, [x], { params }) => [argExtremumOf(j, x, params.axis, params.kind)],
});

/** Writes which of two elements with their indices is the better one. */
function betterOf(
  w: HloWriter,
  [a, ai, b, bi]: Several<string>,
  dtype: DType,
  kind: "max" | "min",
): readonly (readonly [string, DType])[] {
  const element = { dtype, shape: [] };
  const bool = { dtype: "bool", shape: [] } as const;
  const both = (op: string, ...names: readonly string[]) => w.each(op, names, bool);
  const better = w.compare(kind === "max" ? "GT" : "LT", a, b, element);
  // NaN wins over every number, the first of equals over later ones.
  const nan = w.compare("NE", a, a, element);
  const wins = both("or", better, nan);
  const same = w.compare("EQ", a, b, element);
  const bothNan = both("and", nan, w.compare("NE", b, b, element));
  const tie = both("or", same, bothNan);
  const earlier = w.compare("LT", ai, bi, { dtype: "i32", shape: [] });
  const byIndex = both("and", tie, earlier);
  const byValue = both("and", wins, both("not", tie));
  const takeA = both("or", byValue, byIndex);
  const pick = (p: string, q: string, type: DType) =>
    [w.put(`stablehlo.select ${takeA}, ${p}, ${q} : tensor<i1>, ${hloScalar(type)}`), type] as const;
  return [pick(a, b, dtype), pick(ai, bi, "i32")];
}

/** Index along an axis of the largest or smallest element; the first of equals. */
export const argExtremum = (x: Value, axis: number, kind: "max" | "min"): Value =>
  emit1(argOp, [x], { axis, kind });
