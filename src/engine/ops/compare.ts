import { userError } from "../trace/location.ts";
import { defineOp, notDifferentiable, type Op } from "../trace/op.ts";
import { shapeText, tensorType } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { jaxName } from "../wasm/dtype.ts";
import { hloType } from "../xla/writer.ts";
import { full, type None, none } from "./elementwise-rows.ts";
import { batchedValue, checkDType, checkSame } from "./rules.ts";
import { broadcastInDim } from "./shape.ts";

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
  stablehlo: (w, [x, y], { inputs, params }) => [w.compare(params.direction, x, y, inputs[0])],
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
