import { pad as padOp } from "../ops/slice.ts";
import { userError } from "../trace/location.ts";
import { shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./arguments.ts";
import { checkFits, operand, type ValueLike } from "./operands.ts";
import { pick } from "./selection.ts";

/** Padding: one number, before and behind every axis, or before and behind each axis. */
export type PadWidth =
  | number
  | readonly [before: number, behind: number]
  | readonly (readonly [number, number])[];

/** Options of {@link pad}. */
export interface PadOptions {
  /**
   * Contents of the padding. constant (the default): `value`. edge: the outermost element. reflect: mirrored,
   * without the outermost; symmetric: with it. wrap: from the other end.
   */
  readonly mode?: PadMode | undefined;
  /** The number for mode constant (default: 0). */
  readonly value?: number | undefined;
}

/** Fill modes of `np.pad`. */
export type PadMode = "constant" | "edge" | "reflect" | "symmetric" | "wrap";

const modulo = (i: number, n: number): number => ((i % n) + n) % n;

/** Index of the source element for position i, also for i before 0 and beyond n - 1. */
const placeOf: Readonly<Record<Exclude<PadMode, "constant">, (i: number, n: number) => number>> = {
  edge: (i, n) => Math.min(Math.max(i, 0), n - 1),
  reflect: (i, n) => {
    if (n === 1) return 0;
    const at = modulo(i, 2 * n - 2);
    return at < n ? at : 2 * n - 2 - at;
  },
  symmetric: (i, n) => {
    const at = modulo(i, 2 * n);
    return at < n ? at : 2 * n - 1 - at;
  },
  wrap: modulo,
};

function widthsOf(width: PadWidth, rank: number): readonly (readonly [number, number])[] {
  const one = typeof width === "number" ? ([width, width] as const) : width;
  const pairs = typeof one[0] === "number" ? range(rank).map(() => one as readonly [number, number]) : one;
  return pairs as readonly (readonly [number, number])[];
}

/**
 * The value with more elements before and behind each axis.
 *
 * @example
 * ```ts
 * np.pad(x, 1);                                     // zeros all round
 * np.pad(images, [[0, 0], [2, 2], [2, 2]], { mode: "reflect" });
 * ```
 */
export function pad(x: ValueLike, width: PadWidth, { mode = "constant", value = 0 }: PadOptions = {}): Value {
  const given = operand("pad", x);
  const widths = widthsOf(width, given.ndim);
  const whole = widths.every((two) => two.length === 2 && two.every((n) => Number.isInteger(n) && n >= 0));
  if (widths.length !== given.ndim || !whole)
    throw userError(
      "ARGUMENT_INVALID",
      `pad: the widths ${JSON.stringify(width)} do not fit the ${given.ndim} axes of ${shapeText(given.shape)}`,
      "give a number, [before, behind], or one such pair for each axis; from 0 on",
    );
  checkFits("pad", value, given.dtype);
  if (mode === "constant")
    return padOp(
      given,
      value,
      widths.map(([before]) => before),
      widths.map(([, behind]) => behind),
      widths.map(() => 0),
    );
  const place = placeOf[mode];
  if (!place)
    throw userError(
      "ARGUMENT_INVALID",
      `pad: there is no mode "${mode}"`,
      `use one of constant, ${Object.keys(placeOf).join(", ")}`,
    );
  return widths.reduce((padded, [before, behind], axis) => {
    if (before + behind === 0) return padded;
    const n = padded.shape[axis] as number;
    if (n === 0)
      throw userError(
        "SHAPE_MISMATCH",
        `pad: axis ${axis} of ${shapeText(given.shape)} is empty, so there is nothing to repeat`,
        'use mode "constant"',
      );
    return pick(
      padded,
      axis,
      range(n + before + behind, -before).map((i) => place(i, n)),
    );
  }, given);
}
