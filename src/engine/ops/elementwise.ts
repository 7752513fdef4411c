import type { DType } from "../trace/dtype.ts";
import { isFloat } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import type { Jax, JaxArray, Lacking, Op } from "../trace/op.ts";
import { defineOp, isLacking, lacking } from "../trace/op.ts";
import { shapeText, tensorType } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { emit1 } from "../trace/value.ts";
import { jaxName, jaxScalar, wrapU8 } from "../wasm/dtype.ts";
import * as fn from "../wasm/functions.ts";
import { hloType } from "../xla/writer.ts";
import { splat } from "./constant.ts";
import type { DTypeRule } from "./rules.ts";
import { batchedValue, checkDType, checkSame } from "./rules.ts";
import { broadcastInDim } from "./shape.ts";

type None = Record<string, never>;
const none: None = {};
const full = (x: Value, value: number): Value => splat(value, x.dtype, x.shape);

interface UnaryRow {
  readonly accepts: DTypeRule;
  readonly gives?: DType;
  readonly hlo: string;
  readonly wasm: Lacking | ((j: Jax, x: JaxArray, dtype: DType) => JaxArray);
  /** The cotangent of x from that of y = f(x). */
  readonly derivative: Lacking | ((ct: Value, x: Value, y: Value) => Value);
}

function unary(name: string, row: UnaryRow): (x: Value) => Value {
  const { derivative, wasm } = row;
  const op: Op<None> = defineOp<None>({
    name,
    type: ([x]) => {
      checkDType(name, "the value", x, row.accepts);
      return [tensorType(row.gives ?? x.dtype, x.shape)];
    },
    derivative: isLacking(derivative)
      ? derivative
      : ({ inputs, outputs }, [ct]) => [ct && derivative(ct, inputs[0], outputs[0])],
    batch: ([x]) => [emit1(op, [x.value], none)],
    stablehlo: (w, [x], { inputs, outputs }) => {
      const [from, to] = [inputs[0].type, outputs[0].type];
      const dialect = row.hlo.includes(".") ? row.hlo : `stablehlo.${row.hlo}`;
      const types = from === to ? hloType(from) : `(${hloType(from)}) -> ${hloType(to)}`;
      return [
        w.put(
          dialect.startsWith("chlo")
            ? `${dialect} ${x} : ${hloType(from)} -> ${hloType(to)}`
            : `${dialect} ${x} : ${types}`,
        ),
      ];
    },
    wasm: isLacking(wasm) ? wasm : (j, [x], { inputs }) => [wasm(j, x, inputs[0].dtype)],
  });
  return (x) => emit1(op, [x], none);
}

interface BinaryRow {
  readonly accepts: DTypeRule;
  readonly hlo: string;
  readonly wasm: (j: Jax, x: JaxArray, y: JaxArray, dtype: DType) => JaxArray;
  readonly derivative:
    | Lacking
    | ((ct: Value, x: Value, y: Value, z: Value) => readonly [Value | undefined, Value | undefined]);
}

function binary(name: string, row: BinaryRow): (x: Value, y: Value) => Value {
  const { derivative } = row;
  const op: Op<None> = defineOp<None>({
    name,
    type: ([x, y]) => {
      checkDType(name, "argument 0", x, row.accepts);
      checkDType(name, "argument 1", y, row.accepts);
      checkSame(name, [x, y]);
      return [x];
    },
    derivative: isLacking(derivative)
      ? derivative
      : ({ inputs, outputs }, [ct]) => (ct ? derivative(ct, inputs[0], inputs[1], outputs[0]) : []),
    batch: ([x, y], _params, size) => [emit1(op, [batchedValue(x, size), batchedValue(y, size)], none)],
    stablehlo: (w, [x, y], { outputs }) => [
      w.put(`stablehlo.${row.hlo} ${x}, ${y} : ${hloType(outputs[0].type)}`),
    ],
    wasm: (j, [x, y], { inputs }) => [wrapU8(j, row.wasm(j, x, y, inputs[0].dtype), inputs[0].dtype)],
  });
  return (x, y) => emit1(op, [x, y], none);
}

const notDifferentiable = lacking("its result is not a floating-point number");
const flat = (_ct: Value, x: Value): Value => full(x, 0);

// Arithmetic.
export const neg = unary("neg", {
  accepts: "number",
  hlo: "negate",
  wasm: (j, x, dtype) => (dtype === "u8" ? wrapU8(j, x.neg(), dtype) : x.neg()),
  derivative: (ct) => neg(ct),
});
export const add = binary("add", {
  accepts: "number",
  hlo: "add",
  wasm: (_j, x, y) => x.add(y),
  derivative: (ct) => [ct, ct],
});
export const sub = binary("sub", {
  accepts: "number",
  hlo: "subtract",
  wasm: (_j, x, y) => x.sub(y),
  derivative: (ct) => [ct, neg(ct)],
});
export const mul = binary("mul", {
  accepts: "number",
  hlo: "multiply",
  wasm: (_j, x, y) => x.mul(y),
  derivative: (ct, x, y) => [mul(ct, y), mul(x, ct)],
});
export const div = binary("div", {
  accepts: "number",
  hlo: "divide",
  wasm: (j, x, y, dtype) => (isFloat(dtype) ? x.div(y) : fn.divideIntegers(j, x, y, dtype)),
  derivative: (ct, x, y) => [div(ct, y), neg(div(mul(ct, x), mul(y, y)))],
});
export const rem = binary("rem", {
  accepts: "number",
  hlo: "remainder",
  wasm: (j, x, y, dtype) => (isFloat(dtype) ? x.mod(y) : fn.remainderOfIntegers(j, x, y, dtype)),
  derivative: (ct, x, y) => [ct, neg(mul(ct, trunc(div(x, y))))],
});
export const pow = binary("pow", {
  accepts: "float",
  hlo: "power",
  wasm: (j, x, y) => fn.power(j, x, y),
  derivative: (ct, x, y, z) => {
    const zero = full(x, 0);
    const one = full(x, 1);
    const byBase = mul(ct, mul(y, pow(x, select(equal(y, zero), one, sub(y, one)))));
    const safe = select(equal(x, zero), one, x);
    return [byBase, mul(ct, mul(select(equal(x, zero), zero, log(safe)), z))];
  },
});

export const max = binary("max", {
  accepts: "number",
  hlo: "maximum",
  wasm: (j, x, y) => j.numpy.maximum(x, y),
  derivative: (ct, x, y) => extremum(ct, x, y, greater(x, y)),
});
export const min = binary("min", {
  accepts: "number",
  hlo: "minimum",
  wasm: (j, x, y) => j.numpy.minimum(x, y),
  derivative: (ct, x, y) => extremum(ct, x, y, less(x, y)),
});

function extremum(ct: Value, x: Value, y: Value, xWins: Value): readonly [Value, Value] {
  const zero = full(ct, 0);
  const tie = equal(x, y);
  const half = mul(ct, full(ct, 0.5));
  return [select(tie, half, select(xWins, ct, zero)), select(tie, half, select(xWins, zero, ct))];
}

export const atan2 = binary("atan2", {
  accepts: "float",
  hlo: "atan2",
  wasm: (j, x, y) => fn.atan2(j, x, y),
  derivative: (ct, y, x) => {
    const scaled = div(ct, add(mul(x, x), mul(y, y)));
    return [mul(scaled, x), neg(mul(scaled, y))];
  },
});

// Functions of one number.
export const exp = unary("exp", {
  accepts: "float",
  hlo: "exponential",
  wasm: (j, x) => j.numpy.exp(x),
  derivative: (ct, _x, y) => mul(ct, y),
});
export const expm1 = unary("expm1", {
  accepts: "float",
  hlo: "exponential_minus_one",
  wasm: (j, x) => j.numpy.expm1(x),
  derivative: (ct, _x, y) => mul(ct, add(y, full(y, 1))),
});
export const log = unary("log", {
  accepts: "float",
  hlo: "log",
  wasm: (j, x) => fn.log(j, x),
  derivative: (ct, x) => div(ct, x),
});
export const log1p = unary("log1p", {
  accepts: "float",
  hlo: "log_plus_one",
  wasm: (j, x) => fn.log1p(j, x),
  derivative: (ct, x) => div(ct, add(x, full(x, 1))),
});
export const sqrt = unary("sqrt", {
  accepts: "float",
  hlo: "sqrt",
  wasm: (j, x) => j.numpy.sqrt(x),
  derivative: (ct, _x, y) => div(mul(ct, full(ct, 0.5)), y),
});
export const rsqrt = unary("rsqrt", {
  accepts: "float",
  hlo: "rsqrt",
  wasm: (j, x) => j.numpy.reciprocal(j.numpy.sqrt(x)),
  derivative: (ct, x, y) => mul(mul(ct, full(ct, -0.5)), div(y, x)),
});
export const sin = unary("sin", {
  accepts: "float",
  hlo: "sine",
  wasm: (j, x) => fn.sin(j, x),
  derivative: (ct, x) => mul(ct, cos(x)),
});
export const cos = unary("cos", {
  accepts: "float",
  hlo: "cosine",
  wasm: (j, x) => fn.cos(j, x),
  derivative: (ct, x) => neg(mul(ct, sin(x))),
});
export const tan = unary("tan", {
  accepts: "float",
  hlo: "tan",
  wasm: (j, x) => fn.tan(j, x),
  derivative: (ct, _x, y) => mul(ct, add(mul(y, y), full(y, 1))),
});
export const tanh = unary("tanh", {
  accepts: "float",
  hlo: "tanh",
  wasm: (j, x) => j.numpy.tanh(x),
  derivative: (ct, _x, y) => mul(ct, sub(full(y, 1), mul(y, y))),
});
export const logistic = unary("logistic", {
  accepts: "float",
  hlo: "logistic",
  wasm: (j, x) => j.nn.sigmoid(x),
  derivative: (ct, _x, y) => mul(ct, mul(y, sub(full(y, 1), y))),
});
export const erf = unary("erf", {
  accepts: "float",
  hlo: "chlo.erf",
  wasm: (j, x) => j.lax.erf(x),
  derivative: (ct, x) => mul(ct, mul(full(x, 2 / Math.sqrt(Math.PI)), exp(neg(mul(x, x))))),
});
export const abs = unary("abs", {
  accepts: "signed",
  hlo: "abs",
  wasm: (j, x) => j.numpy.abs(x),
  derivative: (ct, x) => mul(ct, sign(x)),
});
export const sign = unary("sign", {
  accepts: "signed",
  hlo: "sign",
  wasm: (j, x, dtype) => (isFloat(dtype) ? j.numpy.sign(x) : fn.signOfIntegers(j, x)),
  derivative: flat,
});
export const floor = unary("floor", {
  accepts: "float",
  hlo: "floor",
  wasm: (j, x) => j.numpy.floor(x),
  derivative: flat,
});
export const ceil = unary("ceil", {
  accepts: "float",
  hlo: "ceil",
  wasm: (j, x) => j.numpy.ceil(x),
  derivative: flat,
});
/** To the nearest whole number, halves to the even one. */
export const round = unary("round", {
  accepts: "float",
  hlo: "round_nearest_even",
  wasm: (j, x) => j.numpy.rint(x),
  derivative: flat,
});
export const isFiniteValue = unary("isFinite", {
  accepts: "float",
  gives: "bool",
  hlo: "is_finite",
  wasm: (j, x) => j.numpy.isfinite(x),
  derivative: notDifferentiable,
});
/** Cuts towards zero. */
export const trunc = (x: Value): Value => select(less(x, full(x, 0)), ceil(x), floor(x));

// Bits and booleans.
export const and = binary("and", {
  accepts: "bits",
  hlo: "and",
  wasm: (j, x, y, dtype) => (dtype === "bool" ? j.numpy.logicalAnd(x, y) : j.numpy.bitwiseAnd(x, y)),
  derivative: notDifferentiable,
});
export const or = binary("or", {
  accepts: "bits",
  hlo: "or",
  wasm: (j, x, y, dtype) => (dtype === "bool" ? j.numpy.logicalOr(x, y) : j.numpy.bitwiseOr(x, y)),
  derivative: notDifferentiable,
});
export const xor = binary("xor", {
  accepts: "bits",
  hlo: "xor",
  wasm: (j, x, y, dtype) => (dtype === "bool" ? x.notEqual(y) : j.numpy.bitwiseXor(x, y)),
  derivative: notDifferentiable,
});
export const not = unary("not", {
  accepts: "bits",
  hlo: "not",
  wasm: (j, x, dtype) =>
    dtype === "bool" ? j.numpy.logicalNot(x) : wrapU8(j, j.numpy.bitwiseInvert(x), dtype),
  derivative: notDifferentiable,
});
export const popcount = unary("popcount", {
  accepts: "integer",
  hlo: "popcnt",
  wasm: (j, x, dtype) => j.numpy.bitwiseCount(toU32(j, x)).astype(jaxName(dtype)),
  derivative: notDifferentiable,
});

/** Shifts by the width or more give what no bits are left gives; engines and chips disagree, so it is written out. */
function shift(name: string, hlo: string, run: (j: Jax, x: JaxArray, y: JaxArray, dtype: DType) => JaxArray) {
  return binary(name, { accepts: "integer", hlo, wasm: run, derivative: notDifferentiable });
}
export const shiftLeft = shift("shiftLeft", "shift_left", (j, x, y, dtype) =>
  inWidth(
    j,
    y,
    dtype,
    (by) => j.numpy.leftShift(x, by),
    () => jaxScalar(j, 0, dtype),
  ),
);
export const shiftRightLogical = shift("shiftRightLogical", "shift_right_logical", (j, x, y, dtype) =>
  inWidth(
    j,
    y,
    dtype,
    (by) =>
      dtype === "i32"
        ? j.lax.bitcastConvertType(j.numpy.rightShift(toU32(j, x), toU32(j, by)), jaxName("i32"))
        : j.numpy.rightShift(x, by),
    () => jaxScalar(j, 0, dtype),
  ),
);
export const shiftRightArithmetic = (x: Value, y: Value): Value =>
  x.dtype === "i32" ? arithmeticShift(x, y) : shiftRightLogical(x, y);
const arithmeticShift = shift("shiftRightArithmetic", "shift_right_arithmetic", (j, x, y) => {
  const cut = j.numpy.minimum(toU32(j, y), jaxScalar(j, 31, "u32"));
  return fn.shiftRightWithSign(j, x, j.lax.bitcastConvertType(cut, jaxName("i32")));
});

const toU32 = (j: Jax, x: JaxArray): JaxArray =>
  x.dtype === "uint32" ? x : j.lax.bitcastConvertType(x, jaxName("u32"));

function inWidth(
  j: Jax,
  y: JaxArray,
  dtype: DType,
  within: (y: JaxArray) => JaxArray,
  beyond: () => JaxArray,
): JaxArray {
  const width = dtype === "u8" ? 8 : 32;
  const inside = toU32(j, y.ref).less(jaxScalar(j, width, "u32"));
  const by = j.numpy.where(inside.ref, y, jaxScalar(j, 0, dtype));
  return j.numpy.where(inside, within(by), beyond());
}

// Comparisons.
type Direction = "EQ" | "NE" | "LT" | "LE" | "GT" | "GE";
const jaxCompare = {
  EQ: "equal",
  NE: "notEqual",
  LT: "less",
  LE: "lessEqual",
  GT: "greater",
  GE: "greaterEqual",
} as const;

const compareOp: Op<{ readonly direction: Direction }> = defineOp<{ readonly direction: Direction }>({
  name: "compare",
  type: ([x, y], { direction }) => {
    checkSame(jaxCompare[direction], [x, y]);
    return [tensorType("bool", x.shape)];
  },
  derivative: notDifferentiable,
  batch: ([x, y], params, size) => [emit1(compareOp, [batchedValue(x, size), batchedValue(y, size)], params)],
  stablehlo: (w, [x, y], { inputs, outputs, params }) => {
    const from = inputs[0].type;
    const kind = isFloat(from.dtype) ? "FLOAT" : from.dtype === "i32" ? "SIGNED" : "UNSIGNED";
    return [
      w.put(
        `stablehlo.compare ${params.direction}, ${x}, ${y}, ${kind} : (${hloType(from)}, ${hloType(from)}) -> ${hloType(outputs[0].type)}`,
      ),
    ];
  },
  wasm: (j, [x, y], { inputs, params }) => {
    const bool = inputs[0].dtype === "bool";
    const [a, b] = bool ? [x.astype(jaxName("i32")), y.astype(jaxName("i32"))] : [x, y];
    return [j.numpy[jaxCompare[params.direction]](a, b)];
  },
});

const comparison =
  (direction: Direction) =>
  (x: Value, y: Value): Value =>
    emit1(compareOp, [x, y], { direction });
export const equal = comparison("EQ");
export const notEqual = comparison("NE");
export const less = comparison("LT");
export const lessEqual = comparison("LE");
export const greater = comparison("GT");
export const greaterEqual = comparison("GE");

const selectOp = defineOp<None>({
  name: "select",
  type: ([condition, x, y]) => {
    checkDType("where", "the condition", condition, "bool");
    checkSame("where", [x, y]);
    if (condition.shape.length !== 0 && condition.shape.join() !== x.shape.join())
      throw userError(
        "SHAPE_MISMATCH",
        `where: the condition has shape ${shapeText(condition.shape)} and the values have shape ${shapeText(x.shape)}`,
        "broadcast the condition to the shape of the values",
      );
    return [x];
  },
  derivative: ({ inputs }, [ct]) => {
    if (!ct) return [];
    const zero = full(ct, 0);
    return [undefined, select(inputs[0], ct, zero), select(inputs[0], zero, ct)];
  },
  batch: ([condition, x, y], _params, size) => {
    const [a, b] = [batchedValue(x, size), batchedValue(y, size)];
    const same = condition.value.ndim - (condition.batched ? 1 : 0) === a.ndim - 1;
    if (!condition.batched && !same) return [select(condition.value, a, b)];
    return [select(same ? batchedValue(condition, size) : spread(condition.value, a), a, b)];
  },
  stablehlo: (w, [condition, x, y], { inputs }) => [
    w.put(
      `stablehlo.select ${condition}, ${x}, ${y} : ${hloType(inputs[0].type)}, ${hloType(inputs[1].type)}`,
    ),
  ],
  wasm: (j, [condition, x, y]) => [j.numpy.where(condition, x, y)],
});

/** Repeats one truth value an example over the whole of that example. */
function spread(condition: Value, like: Value): Value {
  return broadcastInDim(condition, like.shape, [0]);
}

/** x where the condition holds, y elsewhere; the condition may be a scalar. */
export const select = (condition: Value, x: Value, y: Value): Value =>
  emit1(selectOp, [condition, x, y], none);

const stopOp: Op<None> = defineOp<None>({
  name: "stopGradient",
  type: ([x]) => [x],
  derivative: lacking("it stands for a constant"),
  batch: ([x]) => [emit1(stopOp, [x.value], none)],
  stablehlo: (_w, [x]) => [x],
  wasm: (_j, [x]) => [x],
});

/** The same value, which counts as a constant for derivatives. */
export const stopGradient = (x: Value): Value => emit1(stopOp, [x], none);

const identityOp: Op<None> = defineOp<None>({
  name: "identity",
  type: ([x]) => [x],
  derivative: (_node, [ct]) => [ct],
  batch: ([x]) => [emit1(identityOp, [x.value], none)],
  stablehlo: (_w, [x]) => [x],
  wasm: (_j, [x]) => [x],
  unique: true,
});

/** The same value under a name of its own, so that a derivative can be taken by this use alone. */
export const identity = (x: Value): Value => emit1(identityOp, [x], none);
