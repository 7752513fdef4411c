import { type DType, isFloat, limits } from "../trace/dtype.ts";
import { defineOp, isLacking, type Jax, type JaxArray, type Lacking, type Op } from "../trace/op.ts";
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
  readonly accepts: DTypeRule;
  readonly gives?: DType;
  readonly hlo: string;
  readonly wasm: Lacking | ((j: Jax, x: JaxArray, dtype: DType) => JaxArray);
  /** The cotangent of x from that of y = f(x). */
  readonly derivative: Lacking | ((ct: Value, x: Value, y: Value) => Value);
}

/** A row for a function of one value, element by element. */
export function unary(name: string, row: UnaryRow): (x: Value) => Value {
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
  x: string,
  y: string,
  type: TensorType,
  whenZero: "ones" | "left",
): string {
  const t = hloType(type);
  const flags = hloType(tensorType("bool", type.shape));
  const kind = type.dtype === "i32" ? "SIGNED" : "UNSIGNED";
  const isZero = w.put(`stablehlo.compare EQ, ${y}, ${w.splat(0, type)}, ${kind} : (${t}, ${t}) -> ${flags}`);
  const safe = w.put(`stablehlo.select ${isZero}, ${w.splat(1, type)}, ${y} : ${flags}, ${t}`);
  const result = w.put(`stablehlo.${hlo} ${x}, ${safe} : ${t}`);
  const other = whenZero === "left" ? x : w.splat(type.dtype === "i32" ? -1 : limits(type.dtype).max, type);
  return w.put(`stablehlo.select ${isZero}, ${other}, ${result} : ${flags}, ${t}`);
}

/** A row for a function of two values of one shape and type, element by element. */
export function binary(name: string, row: BinaryRow): (x: Value, y: Value) => Value {
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
    stablehlo: (w, [x, y], { inputs, outputs }) => {
      const type = hloType(outputs[0].type);
      const held =
        row.notFolded && inputs.every(isConstant)
          ? w.put(`stablehlo.optimization_barrier ${x} : ${type}`)
          : x;
      if (row.whenZero !== undefined && !isFloat(outputs[0].dtype))
        return [writeGuarded(w, row.hlo, held, y, outputs[0].type, row.whenZero)];
      return [w.put(`stablehlo.${row.hlo} ${held}, ${y} : ${type}`)];
    },
    wasm: (j, [x, y], { inputs }) => [wrapU8(j, row.wasm(j, x, y, inputs[0].dtype), inputs[0].dtype)],
  });
  return (x, y) => emit1(op, [x, y], none);
}

/** The derivative of a function that is level between its jumps. */
export function flat(_ct: Value, x: Value): Value {
  return full(x, 0);
}
