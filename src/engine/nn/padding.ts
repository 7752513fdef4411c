import { badOption, oneOf } from "../np/options.ts";
import type { Padding } from "../ops/convolution.ts";

/**
 * Padding around the spatial axes. `"valid"`: nothing. `"same"`: so much that a stride of 1 keeps the length (a
 * stride of s gives ceil(length / s)), the odd one behind. A number: that many on every side. A list: `[low, high]` for
 * each spatial axis.
 */
export type PaddingOption = "same" | "valid" | number | readonly Padding[];

/** One spatial axis and the window that moves over it. */
export interface Reach {
  readonly length: number;
  /** Reach of the window, dilation included. */
  readonly window: number;
  readonly stride: number;
}

/** The option's value for each of `n` axes. */
export function eachPadding(
  op: string,
  given: PaddingOption,
  n: number,
): readonly ("same" | "valid" | Padding)[] {
  const all = <T>(one: T) => Array.from({ length: n }, () => one);
  if (typeof given === "string") return all<"same" | "valid">(oneOf(op, "padding", given, ["same", "valid"]));
  const pairs = typeof given === "number" ? all<Padding>([given, given]) : given;
  const fits =
    Array.isArray(pairs) &&
    pairs.length === n &&
    pairs.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(Number.isInteger));
  if (!fits)
    throw badOption(
      op,
      `padding is ${JSON.stringify(given)}, for ${n} spatial ${n === 1 ? "axis" : "axes"}`,
      `use "same", "valid", a whole number, or ${n} pairs [low, high]`,
    );
  return pairs;
}

/** Padding before and behind each axis. */
export function paddingPairs(op: string, given: PaddingOption, axes: readonly Reach[]): readonly Padding[] {
  return eachPadding(op, given, axes.length).map((padding, i): Padding => {
    if (padding === "valid") return [0, 0];
    if (padding !== "same") return padding;
    const { length, window, stride } = axes[i] as Reach;
    const total = Math.max(0, (Math.ceil(length / stride) - 1) * stride + window - length);
    return [Math.floor(total / 2), Math.ceil(total / 2)];
  });
}
