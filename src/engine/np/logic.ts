import { convert } from "../ops/convert.ts";
import * as ops from "../ops/elementwise.ts";
import { checkDType } from "../ops/rules.ts";
import type { DType } from "../trace/dtype.ts";
import type { Value } from "../trace/value.ts";
import { operand, operands, pair, toNumber } from "./operands.ts";
import type { ValueLike } from "./value.ts";

type Two = (x: Value, y: Value) => Value;

const asTruth = (): DType => "bool";

const logical =
  (op: string, f: Two) =>
  (x: ValueLike, y: ValueLike): Value => {
    const truths = [x, y].map((side) => convert(operand(op, side), "bool"));
    const [a, b] = operands(op, truths, asTruth) as [Value, Value];
    return f(a, b);
  };

/** Element-wise logical and; numbers are true unless they are 0. */
export const logicalAnd = logical("logicalAnd", ops.and);
/** Element-wise logical or. */
export const logicalOr = logical("logicalOr", ops.or);
/** Element-wise exclusive or. */
export const logicalXor = logical("logicalXor", ops.xor);
/** Element-wise logical not. */
export const logicalNot = (x: ValueLike): Value => ops.not(convert(operand("logicalNot", x), "bool"));

const bitwise =
  (op: string, f: Two) =>
  (x: ValueLike, y: ValueLike): Value => {
    const [a, b] = pair(op, x, y);
    checkDType(op, "the wider argument", a.type, "bits");
    return f(a, b);
  };

/** The bits set in both; of booleans, whether both hold. */
export const bitwiseAnd = bitwise("bitwiseAnd", ops.and);
/** The bits set in either; of booleans, whether either holds. */
export const bitwiseOr = bitwise("bitwiseOr", ops.or);
/** The bits set in one alone; of booleans, whether they differ. */
export const bitwiseXor = bitwise("bitwiseXor", ops.xor);
/** All bits turned. */
export function bitwiseNot(x: ValueLike): Value {
  const value = operand("bitwiseNot", x);
  checkDType("bitwiseNot", "the argument", value.type, "bits");
  return ops.not(value);
}

const shift =
  (op: string, f: Two) =>
  (x: ValueLike, y: ValueLike): Value => {
    const [a, b] = pair(op, x, y, toNumber);
    checkDType(op, "the wider argument", a.type, "integer");
    return f(a, b);
  };

/** The bits moved up by y places. */
export const leftShift = shift("leftShift", ops.shiftLeft);
/** The bits moved down by y places; signed integers keep their sign. */
export const rightShift = shift("rightShift", ops.shiftRightArithmetic);
