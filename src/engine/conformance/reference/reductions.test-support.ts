import { type DType, isFloat } from "../../index.ts";
import { build, type Dense, element, places } from "../dense.test-support.ts";
import type { Reference } from "../sampler.test-support.ts";

type Axes = readonly number[];

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
  (inputs, { axes }: { readonly axes: Axes }) => {
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

const at = (list: Axes, i: number): number => list[i] as number;

interface DotParams {
  readonly lhsContract: Axes;
  readonly rhsContract: Axes;
  readonly lhsBatch: Axes;
  readonly rhsBatch: Axes;
}

const dotGeneral: Reference = (inputs, { lhsContract, rhsContract, lhsBatch, rhsBatch }: DotParams) => {
  const [x, y] = inputs as readonly [Dense, Dense];
  const free = (a: Dense, ...used: Axes[]) =>
    a.shape.map((_, d) => d).filter((d) => !used.flat().includes(d));
  const leftFree = free(x, lhsContract, lhsBatch);
  const rightFree = free(y, rhsContract, rhsBatch);
  const lengths = (a: Dense, axes: Axes) => axes.map((axis) => at(a.shape, axis));
  const inner = places(lengths(x, lhsContract));
  const place = (rank: number, ...parts: readonly (readonly [Axes, Axes])[]): number[] => {
    const index = Array<number>(rank).fill(0);
    for (const [axes, values] of parts)
      axes.forEach((axis, i) => {
        index[axis] = at(values, i);
      });
    return index;
  };
  const shape = [...lengths(x, lhsBatch), ...lengths(x, leftFree), ...lengths(y, rightFree)];
  const sum = (index: Axes): number => {
    const batch = index.slice(0, lhsBatch.length);
    const left = index.slice(batch.length, batch.length + leftFree.length);
    const right = index.slice(batch.length + leftFree.length);
    return inner.reduce((total, k) => {
      const a = element(x, place(x.shape.length, [lhsBatch, batch], [leftFree, left], [lhsContract, k]));
      const b = element(y, place(y.shape.length, [rhsBatch, batch], [rightFree, right], [rhsContract, k]));
      return total + a * b;
    }, 0);
  };
  return [build(x.dtype, shape, sum)];
};

interface ConvolutionParams {
  readonly strides: Axes;
  readonly padding: readonly (readonly [number, number])[];
  readonly lhsDilation: Axes;
  readonly rhsDilation: Axes;
  readonly groups: number;
  readonly lhsSpec: Axes;
  readonly rhsSpec: Axes;
  readonly outSpec: Axes;
}

const along = (shape: Axes, spec: Axes): number[] => spec.map((axis) => at(shape, axis));
/** From the order of a spec (batch, feature, spatial) to the order of the axes. */
const placed = (values: Axes, spec: Axes): number[] => spec.map((_, axis) => at(values, spec.indexOf(axis)));

const convolution: Reference = (inputs, p: ConvolutionParams) => {
  const [x, w] = inputs as readonly [Dense, Dense];
  const [batch, , ...spatial] = along(x.shape, p.lhsSpec) as [number, number, ...number[]];
  const [out, into, ...window] = along(w.shape, p.rhsSpec) as [number, number, ...number[]];
  const spread = (n: number, by: number) => (n === 0 ? 0 : (n - 1) * by + 1);
  const counts = spatial.map((n, i) => {
    const [low, high] = p.padding[i] as readonly [number, number];
    const room = spread(n, at(p.lhsDilation, i)) + low + high - spread(at(window, i), at(p.rhsDilation, i));
    return room < 0 ? 0 : Math.floor(room / at(p.strides, i)) + 1;
  });
  const inner = places([into, ...window]);
  const sum = (result: Axes): number => {
    const [b, o, ...position] = along(result, p.outSpec) as [number, number, ...number[]];
    const group = Math.floor(o / (out / p.groups));
    return inner.reduce((total, [i, ...k]) => {
      const from = position.map((s, d) => {
        const [low] = p.padding[d] as readonly [number, number];
        return (s * at(p.strides, d) + at(k, d) * at(p.rhsDilation, d) - low) / at(p.lhsDilation, d);
      });
      if (!from.every((n, d) => Number.isInteger(n) && n >= 0 && n < at(spatial, d))) return total;
      const a = element(x, placed([b, group * into + (i as number), ...from], p.lhsSpec));
      return total + a * element(w, placed([o, i as number, ...k], p.rhsSpec));
    }, 0);
  };
  return [build(x.dtype, placed([batch, out, ...counts], p.outSpec), sum)];
};

interface PoolParams {
  readonly kind: "max" | "sum";
  readonly window: Axes;
  readonly strides: Axes;
  readonly padding: readonly (readonly [number, number])[];
}

const pool: Reference = (inputs, { kind, window, strides, padding }: PoolParams) => {
  const [x] = inputs as readonly [Dense];
  const pads = (d: number) => padding[d] as readonly [number, number];
  const shape = x.shape.map((n, d) => {
    const room = n + pads(d)[0] + pads(d)[1] - at(window, d);
    return room < 0 ? 0 : Math.floor(room / at(strides, d)) + 1;
  });
  const start = kind === "sum" ? 0 : isFloat(x.dtype) ? Number.NEGATIVE_INFINITY : lowest[x.dtype as Whole];
  return [
    build(x.dtype, shape, (index) =>
      places(window).reduce((total, k) => {
        const from = index.map((i, d) => i * at(strides, d) + at(k, d) - pads(d)[0]);
        if (!from.every((i, d) => i >= 0 && i < at(x.shape, d))) return total;
        return kind === "sum" ? total + element(x, from) : Math.max(total, element(x, from));
      }, start),
    ),
  ];
};

export const productReferences: Readonly<Record<string, Reference>> = { dotGeneral, convolution, pool };
