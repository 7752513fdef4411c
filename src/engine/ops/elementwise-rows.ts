import { type DType, isFloat, limits } from "../trace/dtype.ts";
import {
  defineOp,
  isLacking,
  type Jax,
  type JaxArray,
  type Lacking,
  type Op,
  type Several,
  several,
} from "../trace/op.ts";
import { isConstant } from "../trace/region.ts";
import { type TensorType, tensorType } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { wrapU8 } from "../wasm/dtype.ts";
import { type HloWriter, hloType } from "../xla/writer.ts";
import { splat } from "./constant.ts";
import { batchedValue, checkDType, checkSame, type DTypeRule } from "./rules.ts";

export type None = Record<string, never>;
export const none: None = {};
/** A constant shaped and typed like a value. */
export const full = (x: Value, value: number): Value => splat(value, x.dtype, x.shape);

interface UnaryRow {
  /** Default: `"float"`. */
  readonly accepts?: DTypeRule;
  readonly gives?: DType;
  /** Its name in StableHLO. Default: its own. */
  readonly hlo?: string;
  readonly wasm: (j: Jax, x: JaxArray, dtype: DType) => JaxArray;
  /** The cotangent of x from that of y = f(x). */
  readonly derivative: Lacking | ((ct: Value, x: Value, y: Value) => Value);
}

/** A row for a function of one value, element by element. */
export function unary(name: string, row: UnaryRow): (x: Value) => Value {
  const { accepts = "float", hlo = name, derivative, wasm } = row;
  const op: Op<None> = defineOp<None>({
    name,
    type: ([x]) => {
      checkDType(name, "the value", x, accepts);
      return [tensorType(row.gives ?? x.dtype, x.shape)];
    },
    derivative: isLacking(derivative)
      ? derivative
      : ({ inputs, outputs }, [ct]) => [ct && derivative(ct, inputs[0], outputs[0])],
    batch: ([x]) => [emit1(op, [x.value], none)],
    stablehlo: (w, names, { inputs, outputs }) => {
      if (row.gives !== undefined) return [w.apply(hlo, names, inputs, outputs[0])];
      if (!hlo.startsWith("chlo.")) return [w.each(hlo, names, outputs[0])];
      return [w.put(`${hlo} ${names[0]} : ${hloType(inputs[0])} -> ${hloType(outputs[0])}`)];
    },
    wasm: (j, [x], { inputs }) => [wasm(j, x, inputs[0].dtype)],
  });
  return (x) => emit1(op, [x], none);
}

interface BinaryRow {
  /** Default: `"number"`. */
  readonly accepts?: DTypeRule;
  /** Its name in StableHLO. Default: its own. */
  readonly hlo?: string;
  /** True if XLA must not fold it on constants: its constant folding drops NaN from maxima. */
  readonly notFolded?: boolean;
  /** Result for integers with 0 on the right: all ones, or the left side. The processor would trap. */
  readonly whenZero?: "ones" | "left";
  readonly wasm: (j: Jax, x: JaxArray, y: JaxArray, dtype: DType) => JaxArray;
  readonly derivative:
    | Lacking
    | ((ct: Value, x: Value, y: Value, z: Value) => readonly [Value | undefined, Value | undefined]);
}

function writeGuarded(
  w: HloWriter,
  hlo: string,
  [x, y]: Several<string>,
  type: TensorType,
  whenZero: "ones" | "left",
): string {
  const t = hloType(type);
  const flags = hloType({ dtype: "bool", shape: type.shape });
  const isZero = w.compare("EQ", y, w.splat(0, type), type);
  const safe = w.put(`stablehlo.select ${isZero}, ${w.splat(1, type)}, ${y} : ${flags}, ${t}`);
  const result = w.each(hlo, [x, safe], type);
  const other = whenZero === "left" ? x : w.splat(type.dtype === "i32" ? -1 : limits(type.dtype).max, type);
  return w.put(`stablehlo.select ${isZero}, ${other}, ${result} : ${flags}, ${t}`);
}

/** A row for a function of two values of one shape and type, element by element. */
export function binary(name: string, row: BinaryRow): (x: Value, y: Value) => Value {
  const { accepts = "number", hlo = name, derivative } = row;
  const op: Op<None> = defineOp<None>({
    name,
    type: ([x, y]) => {
      checkDType(name, "argument 0", x, accepts);
      checkDType(name, "argument 1", y, accepts);
      checkSame(name, [x, y]);
      return [x];
    },
    derivative: isLacking(derivative)
      ? derivative
      : ({ inputs, outputs }, [ct]) => (ct ? derivative(ct, inputs[0], inputs[1], outputs[0]) : []),
    batch: ([x, y], _params, size) => [emit1(op, [batchedValue(x, size), batchedValue(y, size)], none)],
    stablehlo: (w, [x, y], { inputs, outputs }) => {
      const [{ type }] = outputs;
      const held = row.notFolded && inputs.every(isConstant) ? w.each("optimization_barrier", [x], type) : x;
      if (row.whenZero === undefined || isFloat(type.dtype)) return [w.each(hlo, [held, y], type)];
      return [writeGuarded(w, hlo, several([held, y]), type, row.whenZero)];
    },
    wasm: (j, [x, y], { inputs }) => [wrapU8(j, row.wasm(j, x, y, inputs[0].dtype), inputs[0].dtype)],
  });
  return (x, y) => emit1(op, [x, y], none);
}

/** The derivative of a function that is level between its jumps. */
export function flat(_ct: Value, x: Value): Value {
  return full(x, 0);
}
