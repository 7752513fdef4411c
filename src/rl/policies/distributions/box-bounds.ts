import { np, type ValueLike } from "../../../engine/index.ts";
import { boundAt } from "../../spaces/index.ts";
import type { Box } from "../../spaces/space.ts";

/** A box's bounds for each of its numbers, in order. */
export interface BoxBounds {
  readonly size: number;
  readonly low: readonly number[];
  readonly high: readonly number[];
}

export function boxBounds(box: Box): BoxBounds {
  const size = box.shape.reduce((product, n) => product * n, 1);
  const each = (bound: Box["low"]): number[] => Array.from({ length: size }, (_, i) => boundAt(bound, i));
  return { size, low: each(box.low), high: each(box.high) };
}

/** Numbers for the last axis inside a compiled function: one where all are equal. */
export function lastAxis(numbers: readonly number[]): ValueLike {
  const [first] = numbers;
  return first !== undefined && numbers.every((x) => x === first) ? first : np.array(numbers);
}
