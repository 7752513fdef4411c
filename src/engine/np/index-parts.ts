import { userError } from "../trace/location.ts";
import type { Shape } from "../trace/type.ts";
import { shapeText } from "../trace/type.ts";
import { Value } from "../trace/value.ts";
import { wrapped } from "./dynamic.ts";
import type { ValueLike } from "./value.ts";

/** From, up to but without, and step; null or left out: the end of the axis, and 1. */
export type Range =
  | readonly []
  | readonly [from: number | null]
  | readonly [from: number | null, to: number | null]
  | readonly [from: number | null, to: number | null, step: number | null];

/**
 * Selects along one axis: a number (the axis goes), a range as text (`"1:3"`, `":-1"`, `"::2"`) or as a list
 * (`[1, 3]`), traced indices, `null` (a new axis), `"..."` (all axes not named).
 */
export type Index = number | string | Range | null | Exclude<ValueLike, boolean>;

/** An index made plain: which elements of which axis. */
export type Part =
  | { readonly kind: "new" }
  | { readonly kind: "number"; readonly axis: number; readonly from: number }
  | {
      readonly kind: "range";
      readonly axis: number;
      readonly from: number;
      readonly count: number;
      readonly step: number;
    }
  | { readonly kind: "traced"; readonly axis: number; readonly at: Value };

const text = /^\s*(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*(-?\d+)?\s*)?$/;

function parseRange(op: string, index: string): Range {
  const found = text.exec(index);
  if (!found)
    throw userError(
      "INDEX_INVALID",
      `${op}: "${index}" is no range`,
      'write ranges as in Python: "1:3", ":-1", "::2", ":", or "..." for all other axes',
    );
  const number = (digits: string | undefined) => (digits === undefined ? null : Number(digits));
  return [number(found[1]), number(found[2]), number(found[3])];
}

function rangePart(op: string, given: Range, axis: number, n: number): Part {
  const [from = null, to = null, by = null] = given;
  const step = by ?? 1;
  if (given.length > 3 || [from, to, step].some((x) => x !== null && !Number.isInteger(x)) || step === 0)
    throw userError(
      "INDEX_INVALID",
      `${op}: ${JSON.stringify(given)} is no range`,
      "give [from, to] or [from, to, step] in whole numbers, the step not 0",
    );
  const [low, high] = step > 0 ? [0, n] : [-1, n - 1];
  const place = (x: number) => Math.min(Math.max(x < 0 ? x + n : x, low), high);
  const start = from === null ? (step > 0 ? 0 : n - 1) : place(from);
  const stop = to === null ? (step > 0 ? n : -1) : place(to);
  const count = Math.max(0, Math.ceil((stop - start) / step));
  return { kind: "range", axis, from: count === 0 ? 0 : start, count, step };
}

function numberPart(op: string, index: number, axis: number, shape: Shape): Part {
  const n = shape[axis] as number;
  const from = index < 0 ? index + n : index;
  if (!Number.isInteger(index) || from < 0 || from >= n)
    throw userError(
      "INDEX_OUT_OF_RANGE",
      `${op}: index ${index} on axis ${axis} of ${shapeText(shape)}`,
      n === 0 ? "the axis is empty" : `use a whole number from ${-n} to ${n - 1}`,
    );
  return { kind: "number", axis, from };
}

/** The parts that indices select of a value of this shape, one for each axis and each new axis, in order. */
export function partsOf(op: string, indices: readonly Index[], shape: Shape): readonly Part[] {
  const dots = indices.filter((index) => index === "...").length;
  const named = indices.filter((index) => index !== null && index !== "...").length;
  if (named > shape.length || dots > 1)
    throw userError(
      "INDEX_INVALID",
      dots > 1
        ? `${op}: "..." stands twice`
        : `${op}: ${named} indices for the ${shape.length} axes of ${shapeText(shape)}`,
      "give at most one index for each axis",
    );
  let axis = 0;
  const whole = (count: number): Part[] =>
    Array.from({ length: count }, () => rangePart(op, [], axis, shape[axis++] as number));
  const parts = indices.flatMap((index): readonly Part[] => {
    if (index === null) return [{ kind: "new" }];
    if (index === "...") return whole(shape.length - named);
    const at = axis++;
    const n = shape[at] as number;
    if (typeof index === "number") return [numberPart(op, index, at, shape)];
    if (typeof index === "string") return [rangePart(op, parseRange(op, index), at, n)];
    if (isRange(index)) return [rangePart(op, index, at, n)];
    return [{ kind: "traced", axis: at, at: wrapped(op, index, n) }];
  });
  return [...parts, ...whole(shape.length - axis)];
}

const isRange = (index: Index): index is Range => Array.isArray(index) && !(index instanceof Value);
