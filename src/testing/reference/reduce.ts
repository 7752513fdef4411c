import type { DType } from "../../engine/index.ts";
import { isFloat } from "../../engine/index.ts";
import type { Dense } from "../dense.ts";
import { build, element, places } from "../dense.ts";
import type { Reference } from "../sample.ts";

interface Axes {
  readonly axes: readonly number[];
}

/** The elements that fall together, by the index of what they become. */
function groups(x: Dense, axes: readonly number[]): (index: readonly number[]) => number[] {
  const along = places(axes.map((axis) => x.shape[axis] as number));
  const kept = x.shape.map((_, d) => d).filter((d) => !axes.includes(d));
  return (index) =>
    along.map((inner) =>
      element(
        x,
        x.shape.map((_, d) => (axes.includes(d) ? inner[axes.indexOf(d)] : index[kept.indexOf(d)]) as number),
      ),
    );
}

const reduction =
  (start: (dtype: DType) => number, join: (a: number, b: number, dtype: DType) => number): Reference =>
  (inputs, { axes }: Axes) => {
    const [x] = inputs as readonly [Dense];
    const gather = groups(x, axes);
    const shape = x.shape.filter((_, d) => !axes.includes(d));
    return [
      build(x.dtype, shape, (index) =>
        gather(index).reduce((sum, value) => join(sum, value, x.dtype), start(x.dtype)),
      ),
    ];
  };

const lowest = { i32: -2147483648, u32: 0, u8: 0 } as const;
const highest = { i32: 2147483647, u32: 4294967295, u8: 255 } as const;
type Whole = keyof typeof lowest;

const larger = (a: number, b: number): number => Math.max(a, b);
const smaller = (a: number, b: number): number => Math.min(a, b);

const argExtremum: Reference = (
  inputs,
  { axis, kind }: { readonly axis: number; readonly kind: "max" | "min" },
) => {
  const [x] = inputs as readonly [Dense];
  const gather = groups(x, [axis]);
  const better = (a: number, b: number): boolean => {
    if (Number.isNaN(b)) return false;
    return Number.isNaN(a) || (kind === "max" ? a > b : a < b);
  };
  const shape = x.shape.filter((_, d) => d !== axis);
  return [
    build("i32", shape, (index) => {
      const values = gather(index);
      return values.reduce((best, value, i) => (better(value, values[best] as number) ? i : best), 0);
    }),
  ];
};

export const reduceReferences: Readonly<Record<string, Reference>> = {
  reduceSum: reduction(
    () => 0,
    (a, b) => a + b,
  ),
  reduceMax: reduction(
    (dtype) => (isFloat(dtype) ? Number.NEGATIVE_INFINITY : lowest[dtype as Whole]),
    larger,
  ),
  reduceMin: reduction(
    (dtype) => (isFloat(dtype) ? Number.POSITIVE_INFINITY : highest[dtype as Whole]),
    smaller,
  ),
  reduceProd: reduction(
    () => 1,
    (a, b, dtype) => (isFloat(dtype) ? a * b : Math.imul(a, b)),
  ),
  reduceAnd: reduction(() => 1, smaller),
  reduceOr: reduction(() => 0, larger),
  argExtremum,
};
