import { defineOp, type Jax, type JaxArray, type Op } from "../trace/op.ts";
import type { Shape } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { wrapU8 } from "../wasm/dtype.ts";
import type { HloWriter } from "../xla/writer.ts";
import { partOfArray } from "./array-parts.ts";
import { splat } from "./constant.ts";
import type { Padding } from "./convolution.ts";
import { add, equal, exp, log1p, max, min, mul, select, sub } from "./elementwise.ts";
import { writeWindows } from "./pool.ts";
import { checkAxis, checkDType, type DTypeRule } from "./rules.ts";
import { concatenate } from "./shape.ts";
import { sliceAlong, writePad } from "./slice.ts";

interface CumulativeParams {
  readonly axis: number;
  readonly reverse: boolean;
}

/** Up to here adding in log n steps beats the other way; found by measuring, on each engine. */
const stepsUpTo = 256;
const squareUpTo = 64;

const cumsumOp: Op<CumulativeParams> = defineOp<CumulativeParams>({
  name: "cumsum",
  type: ([x]) => {
    checkDType("cumsum", "the value", x, "number");
    return [x];
  },
  derivative: ({ params }, [ct]) => [ct && cumsum(ct, params.axis, !params.reverse)],
  batch: ([x], { axis, reverse }) => [cumsum(x.value, axis + 1, reverse)],
  stablehlo: (w, [x], { inputs, params }) => [
    (inputs[0].shape[params.axis] as number) <= stepsUpTo
      ? stepsText(w, x, inputs[0], params)
      : windowText(w, x, inputs[0], params),
  ],
  wasm: (j, [x], { inputs, params: { axis, reverse } }) => {
    const { shape, dtype } = inputs[0];
    const length = shape[axis] as number;
    if (length > squareUpTo) return [wrapU8(j, addInSteps(j, x, shape, { axis, reverse }), dtype)];
    const turn = (array: JaxArray) => (reverse ? j.numpy.flip(array, [axis]) : array);
    return [wrapU8(j, turn(j.numpy.cumsum(turn(x), axis)), dtype)];
  },
});

/** Adds what stands 1, 2, 4, ... places before. */
function stepsText(w: HloWriter, x: string, { type }: Value, { axis, reverse }: CumulativeParams): string {
  const zero = w.scalar(0, type.dtype);
  const only = (n: number) => type.shape.map((_, d) => (d === axis ? n : 0));
  let sums = x;
  for (let step = 1; step < (type.shape[axis] as number); step *= 2) {
    const [low, high] = reverse ? [-step, step] : [step, -step];
    const widths = { low: only(low), high: only(high), interior: only(0) };
    const moved = writePad(w, sums, zero, type, widths, type);
    sums = w.each("add", [sums, moved], type);
  }
  return sums;
}

/** Sums over a window that reaches back to the start, which the compiler turns into sums of sums. */
function windowText(w: HloWriter, x: string, { type }: Value, { axis, reverse }: CumulativeParams): string {
  const before = (type.shape[axis] as number) - 1;
  const padding = type.shape.map((_, d): Padding => {
    if (d !== axis) return [0, 0];
    return reverse ? [0, before] : [before, 0];
  });
  const window = type.shape.map((n, d) => (d === axis ? n : 1));
  return writeWindows(w, x, [type, type], { op: "add", start: 0, window, padding });
}

/** The same steps on jax-js, whose own cumsum takes n^2 sums. */
function addInSteps(j: Jax, x: JaxArray, shape: Shape, { axis, reverse }: CumulativeParams): JaxArray {
  const length = shape[axis] as number;
  let sums = x;
  for (let step = 1; step < length; step *= 2) {
    const part = partOfArray(j, sums.ref, {
      axis,
      from: reverse ? step : 0,
      stride: 1,
      count: length - step,
    });
    const widths = shape.map((_, d): [number, number] =>
      d !== axis ? [0, 0] : reverse ? [0, step] : [step, 0],
    );
    sums = sums.add(j.numpy.pad(part, widths));
  }
  return sums;
}

/** Sums of all elements up to each along an axis; from each on where `reverse` holds. */
export function cumsum(x: Value, axis: number, reverse = false): Value {
  const at = checkAxis("cumsum", axis, x.ndim);
  checkDType("cumsum", "the value", x.type, "number");
  return x.size === 0 || x.shape[at] === 1 ? x : emit1(cumsumOp, [x], { axis: at, reverse });
}

/** Combines each element with all before it, in steps of 1, 2, 4, ...; `combine` must be associative. */
function inSteps(
  name: string,
  accepts: DTypeRule,
  combine: (earlier: Value, later: Value) => Value,
): (x: Value, axis: number, reverse?: boolean) => Value {
  return (x, axis, reverse = false) => {
    checkDType(name, "the value", x.type, accepts);
    const at = checkAxis(name, axis, x.ndim);
    const length = x.shape[at] as number;
    const part = (value: Value, from: number, to: number): Value => sliceAlong(value, at, from, to);
    let y = x;
    for (let step = 1; step < length; step *= 2) {
      const [first, rest] = [part(y, 0, length - step), part(y, step, length)];
      y = reverse
        ? concatenate([combine(first, rest), part(y, length - step, length)], at)
        : concatenate([part(y, 0, step), combine(first, rest)], at);
    }
    return y;
  };
}

/** Products of all elements up to each along an axis. */
export const cumprod = inSteps("cumprod", "number", mul);
/** The largest of all elements up to each along an axis. */
export const cummax = inSteps("cummax", "number", max);
/** The smallest of all elements up to each along an axis. */
export const cummin = inSteps("cummin", "number", min);
/** The logarithm of the sum of the exponentials of all elements up to each along an axis. */
export function cumlogsumexp(x: Value, axis: number, reverse = false): Value {
  const y = logSums(x, axis, reverse);
  // A constant where all up to there are -inf: their gradient is 0, as that of logsumexp.
  const nothing = splat(Number.NEGATIVE_INFINITY, y.dtype, y.shape);
  return select(equal(y, nothing), nothing, y);
}

const logSums = inSteps("cumlogsumexp", "float", addInLogs);

/** log(exp a + exp b). Equal ones are kept from the difference, which is NaN between infinities. */
function addInLogs(a: Value, b: Value): Value {
  const larger = max(a, b);
  const difference = select(equal(a, b), splat(0, a.dtype, a.shape), sub(min(a, b), larger));
  return add(larger, log1p(exp(difference)));
}
