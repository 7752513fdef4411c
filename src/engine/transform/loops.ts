import { describeDifference, leafPaths, sameShape } from "../../core/index.ts";
import { asValue, type ValueLike } from "../np/operands.ts";
import { splat } from "../ops/constant.ts";
import { convert } from "../ops/convert.ts";
import { max, min } from "../ops/elementwise.ts";
import { emitScan } from "../ops/scan.ts";
import { emitWhile } from "../ops/while.ts";
import { isInteger } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { Value } from "../trace/value.ts";
import { type Flat, flat, grow, placeText } from "./tree.ts";

/** Options of a scan. */
export interface ScanOptions {
  /** Number of steps; a traced i32 makes one program serve every count. Required without xs. */
  readonly length?: number | Value;
  /** The most steps there can be where `length` is traced and there are no xs: room for ys and gradients. */
  readonly maxLength?: number;
  /** From the last slice to the first; ys keep their places. */
  readonly reverse?: boolean;
}

/** The same tree with every field readonly: what literals that a body returns are taken for. */
type Frozen<T> = T extends Value ? T : T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T;

/** A tree of stacked results: the same tree, each value with one more axis in front. */
type Slices<X> = X;

/**
 * A loop in the compiled program. `body` takes the carry, a slice of every value in `xs` and the step's index, and
 * gives the next carry and this step's result; the results come back stacked. Its gradient is a scan too.
 *
 * @example
 * ```ts
 * const [total, sums] = scan((sum: Value, x: Value) => [sum.add(x), sum], np.zeros([]), xs);
 * ```
 */
export function scan<const C, const X, const Y>(
  body: (carry: C, x: Slices<X>, index: Value) => readonly [carry: C | NoInfer<Frozen<C>>, y: Y],
  init: C,
  xs?: X,
  options: ScanOptions = {},
): [carry: C, ys: Y] {
  const carry = flat(init);
  const stacks = flat(xs);
  const { count, length } = steps(stacks, options);
  let ysShape: Flat["shape"] = { kind: "empty", value: undefined };
  const result = emitScan({
    count,
    length,
    reverse: options.reverse ?? false,
    init: carry.values,
    xs: stacks.values,
    step: (index, now, slices) => {
      const out = body(grow(carry.shape, now) as C, grow(stacks.shape, slices) as X, index);
      if (!Array.isArray(out) || out.length !== 2)
        throw userError(
          "SCAN_BODY",
          "scan: the body must return [carry, y]",
          "return [nextCarry, null] where there is nothing to stack",
        );
      const next = flat(out[0]);
      checkCarry("scan", carry, next);
      const ys = flat(out[1]);
      ysShape = ys.shape;
      if (ys.values.length > 0 && length === undefined)
        throw userError(
          "SCAN_LENGTH",
          "scan: with a traced length and no xs there is no telling how many results to make room for",
          "give the most steps there can be as maxLength, or return null for y",
        );
      return { carry: next.values, ys: ys.values };
    },
  });
  return [grow(carry.shape, result.carry) as C, grow(ysShape, result.ys) as Y];
}

function steps(
  xs: Flat,
  options: ScanOptions,
): { readonly count: Value | undefined; readonly length: number | undefined } {
  const lengths = new Set(xs.values.map((value) => value.shape[0]));
  if (lengths.size > 1 || lengths.has(undefined)) {
    const paths = leafPaths(xs.shape);
    const list = xs.values.map((value, i) => `${paths[i] || "xs"} ${value.type.text}`).join(", ");
    throw userError(
      "SCAN_LENGTH",
      `scan: xs do not agree on the length of their first axis: ${list}`,
      "stack the same number of slices in each",
    );
  }
  const [stacked] = lengths;
  const { length } = options;
  if (length instanceof Value) {
    const room = stacked ?? options.maxLength;
    if (!isInteger(length.dtype) || length.ndim !== 0)
      throw userError("SCAN_LENGTH", `scan: the length is ${length.type.text}`, "give an i32 scalar");
    const counted = convert(length, "i32");
    const zero = splat(0, "i32");
    return {
      count: room === undefined ? max(counted, zero) : max(min(counted, splat(room, "i32")), zero),
      length: room,
    };
  }
  if (length === undefined && stacked === undefined)
    throw userError(
      "SCAN_LENGTH",
      "scan: neither xs nor a length",
      "pass xs to go through, or { length: n }",
    );
  if (
    length !== undefined &&
    (!Number.isInteger(length) || length < 0 || (stacked !== undefined && length !== stacked))
  )
    throw userError(
      "SCAN_LENGTH",
      stacked === undefined
        ? `scan: ${length} is not a number of steps`
        : `scan: length ${length}, but xs have ${stacked} slices`,
      "leave the length out where xs are given, or slice xs to that length",
    );
  return { count: undefined, length: length ?? stacked };
}

function checkCarry(name: string, carry: Flat, next: Flat): void {
  if (!sameShape(carry.shape, next.shape))
    throw userError(
      `${name.toUpperCase()}_CARRY`,
      `${name}: the body's carry is built unlike the first: ${describeDifference(carry.shape, next.shape)}`,
      "return a carry with the same keys",
    );
  next.values.forEach((value, i) => {
    const first = carry.values[i] as Value;
    if (first.type !== value.type)
      throw userError(
        `${name.toUpperCase()}_CARRY`,
        `${name}: the carry${placeText(carry, i)} starts as ${first.type.text} and comes back as ${value.type.text}`,
        "keep shape and element type: start with what the body returns, or convert with astype",
      );
  });
}

/**
 * Repeats `body` while `condition` holds. How often is known only at run time, so it has no gradient: use scan.
 *
 * @example
 * ```ts
 * const power = whileLoop((x: Value) => np.less(x, 1000), (x: Value) => np.multiply(x, 2), start);
 * ```
 */
export function whileLoop<const C>(
  condition: (carry: C) => ValueLike,
  body: (carry: C) => C | NoInfer<Frozen<C>>,
  init: C,
): C {
  const carry = flat(init);
  const results = emitWhile(
    carry.values,
    (now) => {
      const test = asValue(condition(grow(carry.shape, now) as C));
      if (test.dtype !== "bool" || test.ndim !== 0)
        throw userError(
          "WHILE_CONDITION",
          `whileLoop: the condition is ${test.type.text}`,
          "give one truth value: compare, and reduce with np.any or np.all",
        );
      return test;
    },
    (now) => {
      const next = flat(body(grow(carry.shape, now) as C));
      checkCarry("whileLoop", carry, next);
      return next.values;
    },
  );
  return grow(carry.shape, results) as C;
}
