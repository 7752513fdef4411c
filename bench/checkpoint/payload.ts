import { put, type Tensor } from "../../src/index.ts";
import type { Stateful, StateTree } from "../../src/state/index.ts";
import { numbers } from "../engine/data.ts";

/** Tensors of a third of a gigabyte: 16 MB each, some of 1 MB, some small. Parameters, and twice as much of Adam's. */
const third: readonly (readonly [count: number, side: number])[] = [
  [20, 2000],
  [13, 500],
  [33, 50],
];
/** What is missing to a whole gigabyte. */
const rest = 50;

/** Sides of the squares that make up so many gigabytes, 10^9 bytes each. */
export const sides = (gigabytes: number): readonly number[] =>
  Array.from({ length: gigabytes }, () => [
    ...Array.from({ length: 3 }, () =>
      third.flatMap(([count, side]) => Array.from({ length: count }, () => side)),
    ).flat(),
    rest,
  ]).flat();

/** A component that holds a state and takes any other. */
export function holding(state: StateTree): Stateful {
  let held = state;
  return {
    getState: () => held,
    setState: (next) => {
      held = next;
    },
  };
}

/** So many gigabytes of tensors on xla, in components as a training run has them. */
export function components(gigabytes: number): Readonly<Record<string, Stateful>> {
  const noise = numbers(7, 2000 * 2000);
  const tensors = sides(gigabytes).map((side, i) => {
    // No two are the same: a file system might notice.
    noise[0] = i;
    return put(noise.subarray(0, side * side), { shape: [side, side], engine: "xla" });
  });
  const part = (n: number): Tensor[] => tensors.filter((_, i) => i % 3 === n);
  return { params: holding(part(0)), optimizer: holding({ m: part(1), v: part(2) }) };
}
