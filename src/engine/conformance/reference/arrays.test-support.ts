import { type DType, isFloat, type Shape } from "../../index.ts";
import { build, type Dense, dense, element, places } from "../dense.test-support.ts";
import type { Reference } from "../sampler.test-support.ts";

const one = (inputs: readonly Dense[]): Dense => inputs[0] as Dense;
const at = (list: readonly number[], i: number): number => list[i] as number;

const broadcastInDim: Reference = (
  inputs,
  { shape, dims }: { readonly shape: Shape; readonly dims: readonly number[] },
) => {
  const x = one(inputs);
  const from = (index: readonly number[]) => x.shape.map((n, i) => (n === 1 ? 0 : at(index, at(dims, i))));
  return [build(x.dtype, shape, (index) => element(x, from(index)))];
};

const reshape: Reference = (inputs, { shape }: { readonly shape: Shape }) => [{ ...one(inputs), shape }];

const transpose: Reference = (inputs, { perm }: { readonly perm: readonly number[] }) => {
  const x = one(inputs);
  const from = (index: readonly number[]) => x.shape.map((_, d) => at(index, perm.indexOf(d)));
  return [
    build(
      x.dtype,
      perm.map((p) => at(x.shape, p)),
      (index) => element(x, from(index)),
    ),
  ];
};

const reverse: Reference = (inputs, { axes }: { readonly axes: readonly number[] }) => {
  const x = one(inputs);
  const from = (index: readonly number[]) =>
    index.map((i, d) => (axes.includes(d) ? at(x.shape, d) - 1 - i : i));
  return [build(x.dtype, x.shape, (index) => element(x, from(index)))];
};

const concatenate: Reference = (inputs, { axis }: { readonly axis: number }) => {
  const first = one(inputs);
  const total = inputs.reduce((sum, x) => sum + at(x.shape, axis), 0);
  const find = (index: readonly number[]): number => {
    let along = at(index, axis);
    const part = inputs.find((x) => {
      if (along < at(x.shape, axis)) return true;
      along -= at(x.shape, axis);
      return false;
    }) as Dense;
    return element(
      part,
      index.map((i, d) => (d === axis ? along : i)),
    );
  };
  return [
    build(
      first.dtype,
      first.shape.map((n, d) => (d === axis ? total : n)),
      find,
    ),
  ];
};

interface SplitParams {
  readonly axis: number;
  readonly sizes: readonly number[];
}

const split: Reference = (inputs, { axis, sizes }: SplitParams) => {
  const x = one(inputs);
  let start = 0;
  return sizes.map((size) => {
    const from = start;
    start += size;
    const shape = x.shape.map((n, d) => (d === axis ? size : n));
    return build(x.dtype, shape, (index) =>
      element(
        x,
        index.map((i, d) => (d === axis ? from + i : i)),
      ),
    );
  });
};

interface SliceParams {
  readonly starts: readonly number[];
  readonly limits: readonly number[];
  readonly strides: readonly number[];
}

const slice: Reference = (inputs, { starts, limits, strides }: SliceParams) => {
  const x = one(inputs);
  const shape = starts.map((from, d) => Math.ceil((at(limits, d) - from) / at(strides, d)));
  const from = (index: readonly number[]) => index.map((i, d) => at(starts, d) + i * at(strides, d));
  return [build(x.dtype, shape, (index) => element(x, from(index)))];
};

interface PadParams {
  readonly value: number;
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly interior: readonly number[];
}

const pad: Reference = (inputs, { value, low, high, interior }: PadParams) => {
  const x = one(inputs);
  const spread = (n: number, d: number) => (n === 0 ? 0 : n + (n - 1) * at(interior, d));
  const shape = x.shape.map((n, d) => spread(n, d) + at(low, d) + at(high, d));
  const find = (index: readonly number[]): number => {
    const places = index.map((i, d) => (i - at(low, d)) / (at(interior, d) + 1));
    const there = places.every((p, d) => Number.isInteger(p) && p >= 0 && p < at(x.shape, d));
    return there ? element(x, places) : value;
  };
  return [build(x.dtype, shape, find)];
};

const ranges: Readonly<Record<string, readonly [low: number, high: number]>> = {
  i32: [-2147483648, 2147483647],
  u32: [0, 4294967295],
  u8: [0, 255],
};

/** Floats are cut towards zero and to the nearest number there is, NaN is 0; integers keep their lowest bits. */
const convert: Reference = (inputs, { dtype }: { readonly dtype: DType }) => {
  const x = one(inputs);
  const range = isFloat(x.dtype) ? ranges[dtype] : undefined;
  const cut = (value: number, [low, high]: readonly [number, number]) =>
    Number.isNaN(value) ? 0 : Math.trunc(Math.min(Math.max(value, low), high));
  return [
    dense(
      dtype,
      x.shape,
      x.data.map((value) => (range ? cut(value, range) : value)),
    ),
  ];
};

const arrays = { f32: Float32Array, i32: Int32Array, u32: Uint32Array } as const;

const bitcast: Reference = (inputs, { dtype }: { readonly dtype: keyof typeof arrays }) => {
  const x = one(inputs);
  const words = arrays[x.dtype as keyof typeof arrays].from(x.data);
  return [dense(dtype, x.shape, [...new arrays[dtype](words.buffer)])];
};

interface Literal {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly data: number | readonly number[];
}

const constant: Reference = (_inputs, { dtype, shape, data }: Literal) => [
  typeof data === "number" ? build(dtype, shape, () => data) : dense(dtype, shape, data),
];

interface Count {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly axis: number;
}

const iota: Reference = (_inputs, { dtype, shape, axis }: Count) => [
  build(dtype, shape, (index) => at(index, axis)),
];

export const shapeReferences: Readonly<Record<string, Reference>> = {
  broadcastInDim,
  reshape,
  transpose,
  reverse,
  concatenate,
  split,
  slice,
  pad,
  convert,
  bitcast,
  constant,
  iota,
  barrier: (inputs) => inputs,
};

interface Rows {
  readonly batchDims: number;
}

const clamp = (i: number, high: number): number => Math.max(0, Math.min(i, high));

/** The origin, or the target, of the element at `index` of the rows that indices name. */
function rowPlace(indices: Dense, index: readonly number[], batchDims: number): number[] {
  const rank = indices.shape.length;
  return [...index.slice(0, batchDims), element(indices, index.slice(0, rank)), ...index.slice(rank)];
}

const gather: Reference = (inputs, { batchDims }: Rows) => {
  const [operand, indices] = inputs as readonly [Dense, Dense];
  const shape = [...indices.shape, ...operand.shape.slice(batchDims + 1)];
  const high = (operand.shape[batchDims] as number) - 1;
  return [
    build(operand.dtype, shape, (index) => {
      const place = rowPlace(indices, index, batchDims);
      place[batchDims] = clamp(place[batchDims] as number, high);
      return element(operand, place);
    }),
  ];
};

/** Goes through all updates in order; those out of range are dropped. */
const scatter =
  (join: (old: number, update: number) => number): Reference =>
  (inputs, { batchDims }: Rows) => {
    const [operand, indices, updates] = inputs as readonly [Dense, Dense, Dense];
    const data = [...operand.data];
    for (const index of places(updates.shape)) {
      const place = rowPlace(indices, index, batchDims);
      const row = place[batchDims] as number;
      if (row < 0 || row >= (operand.shape[batchDims] as number)) continue;
      const flat = place.reduce((sum, i, d) => sum * (operand.shape[d] as number) + i, 0);
      data[flat] = join(data[flat] as number, element(updates, index));
    }
    return [dense(operand.dtype, operand.shape, data)];
  };

const lastWrites: Reference = (inputs) => {
  const [indices] = inputs as readonly [Dense];
  const axis = indices.shape.length - 1;
  const count = indices.shape[axis] as number;
  return [
    build("i32", indices.shape, (index) => {
      const mine = element(indices, index);
      const later = Array.from({ length: count }, (_, i) => i).slice((index[axis] as number) + 1);
      const overruled = later.some((i) => element(indices, [...index.slice(0, axis), i]) === mine);
      return overruled ? -1 : mine;
    }),
  ];
};

/** Starts moved so that a window of these sizes fits. */
const fitting = (starts: readonly Dense[], shape: Shape, sizes: Shape): number[] =>
  starts.map((start, d) => clamp(start.data[0] as number, (shape[d] as number) - (sizes[d] as number)));

const dynamicSlice: Reference = (inputs, { sizes }: { readonly sizes: Shape }) => {
  const [x, ...starts] = inputs as readonly [Dense, ...Dense[]];
  const from = fitting(starts, x.shape, sizes);
  return [
    build(x.dtype, sizes, (index) =>
      element(
        x,
        index.map((i, d) => i + (from[d] as number)),
      ),
    ),
  ];
};

const dynamicUpdateSlice: Reference = (inputs) => {
  const [x, update, ...starts] = inputs as readonly [Dense, Dense, ...Dense[]];
  const from = fitting(starts, x.shape, update.shape);
  return [
    build(x.dtype, x.shape, (index) => {
      const inside = index.map((i, d) => i - (from[d] as number));
      const covered = inside.every((i, d) => i >= 0 && i < (update.shape[d] as number));
      return covered ? element(update, inside) : element(x, index);
    }),
  ];
};

const sort: Reference = (inputs, { axis }: { readonly axis: number }) => {
  const [keys] = inputs as readonly [Dense];
  const along = Array.from({ length: keys.shape[axis] as number }, (_, i) => i);
  const order = (index: readonly number[]): number[] => {
    const key = (i: number) =>
      element(
        keys,
        index.map((n, d) => (d === axis ? i : n)),
      );
    return [...along].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
      return x - y || 0;
    });
  };
  return inputs.map((x) =>
    build(x.dtype, x.shape, (index) => {
      const from = order(index)[index[axis] as number] as number;
      return element(
        x,
        index.map((n, d) => (d === axis ? from : n)),
      );
    }),
  );
};

const cumsum: Reference = (
  inputs,
  { axis, reverse }: { readonly axis: number; readonly reverse: boolean },
) => {
  const [x] = inputs as readonly [Dense];
  const along = Array.from({ length: x.shape[axis] as number }, (_, i) => i);
  return [
    build(x.dtype, x.shape, (index) => {
      const here = index[axis] as number;
      const summed = along.filter((i) => (reverse ? i >= here : i <= here));
      return summed.reduce(
        (sum, i) =>
          sum +
          element(
            x,
            index.map((n, d) => (d === axis ? i : n)),
          ),
        0,
      );
    }),
  ];
};

export const indexingReferences: Readonly<Record<string, Reference>> = {
  gather,
  scatterAdd: scatter((old, update) => old + update),
  scatterSet: scatter((_old, update) => update),
  lastWrites,
  dynamicSlice,
  dynamicUpdateSlice,
  sort,
  cumsum,
};
