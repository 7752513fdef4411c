import type { DType, Shape } from "../../index.ts";
import { dense } from "../dense.test-support.ts";
import type { Sample, SampleMaker } from "../sampler.test-support.ts";
import { distinct } from "./reductions.test-support.ts";

const broadcastInDim: SampleMaker = (random, float) => {
  const asNumpyDoes = (dtype: DType): Sample => {
    const { from, to } = random.broadcastPair();
    const dims = from.map((_, i) => i + to.length - from.length);
    return { inputs: [random.numbers(dtype, from)], params: { shape: to, dims } };
  };
  const sample = (dtype: DType, from: Shape, shape: Shape, dims: readonly number[]): Sample => ({
    inputs: [random.numbers(dtype, from)],
    params: { shape, dims },
  });
  return [
    asNumpyDoes(float),
    asNumpyDoes(float),
    asNumpyDoes("i32"),
    sample(float, [2, 1], [2, 3, 4], [0, 2]),
    sample("bool", [3], [3, 2], [0]),
    { ...sample(float, [], [2, 0], []), for: "values" },
    { ...sample(float, [1, 0], [3, 0], [0, 1]), for: "values" },
    { ...sample("u8", [], [], []), for: "values" },
  ];
};

const reshape: SampleMaker = (random, float) => {
  const sample = (dtype: DType, from: Shape, shape: Shape): Sample => ({
    inputs: [random.numbers(dtype, from)],
    params: { shape },
  });
  return [
    sample(float, [2, 3], [3, 2]),
    sample("i32", [4], [2, 1, 2]),
    { ...sample(float, [1, 1], []), for: "values" },
    { ...sample("bool", [], [1]), for: "values" },
    { ...sample(float, [0, 3], [2, 0]), for: "values" },
  ];
};

const transpose: SampleMaker = (random, float) => {
  const sample = (dtype: DType, shape: Shape, perm: readonly number[]): Sample => ({
    inputs: [random.numbers(dtype, shape)],
    params: { perm },
  });
  return [
    sample(float, [2, 3], [1, 0]),
    sample(float, [2, 1, 3], [2, 0, 1]),
    sample("u8", [2, 2, 3], [1, 0, 2]),
    { ...sample("bool", [], []), for: "values" },
    { ...sample("i32", [0, 2], [1, 0]), for: "values" },
  ];
};

const reverse: SampleMaker = (random, float) => {
  const sample = (dtype: DType, shape: Shape, axes: readonly number[]): Sample => ({
    inputs: [random.numbers(dtype, shape)],
    params: { axes },
  });
  return [
    sample(float, [2, 3], [1]),
    sample(float, [2, 1, 3], [0, 2]),
    sample("bool", [3], [0]),
    { ...sample("i32", [0, 2], [0]), for: "values" },
  ];
};

const concatenate: SampleMaker = (random, float) => {
  const sample = (dtype: DType, shapes: readonly Shape[], axis: number): Sample => ({
    inputs: shapes.map((shape) => random.numbers(dtype, shape)),
    params: { axis },
  });
  return [
    sample(
      float,
      [
        [2, 3],
        [1, 3],
      ],
      0,
    ),
    sample(
      float,
      [
        [2, 1],
        [2, 3],
        [2, 2],
      ],
      1,
    ),
    sample("bool", [[2], [3]], 0),
    { ...sample("u8", [[1], [1], [1], [2]], 0), for: "values" },
    {
      ...sample(
        float,
        [
          [2, 2],
          [0, 2],
          [1, 2],
        ],
        0,
      ),
      for: "values",
    },
    {
      ...sample(
        "i32",
        [
          [0, 2],
          [0, 2],
        ],
        0,
      ),
      for: "values",
    },
  ];
};

const split: SampleMaker = (random, float) => {
  const sample = (dtype: DType, shape: Shape, axis: number, sizes: readonly number[]): Sample => ({
    inputs: [random.numbers(dtype, shape)],
    params: { axis, sizes },
  });
  return [
    sample(float, [6], 0, [2, 2, 2]),
    sample(float, [2, 5, 1], 1, [1, 4]),
    sample("i32", [3, 2], 0, [1, 1, 1]),
    { ...sample("u8", [2, 3], 1, [2, 1]), for: "values" },
    { ...sample("bool", [4], 0, [3, 1]), for: "values" },
    { ...sample(float, [0, 3], 1, [1, 2]), for: "values" },
  ];
};

export const shapeSamples: Readonly<Record<string, SampleMaker>> = {
  broadcastInDim,
  reshape,
  transpose,
  reverse,
  concatenate,
  split,
};

const slice: SampleMaker = (random, float) => {
  const sample = (
    dtype: DType,
    shape: Shape,
    starts: readonly number[],
    limits: readonly number[],
    strides: readonly number[] = shape.map(() => 1),
  ): Sample => ({ inputs: [random.numbers(dtype, shape)], params: { starts, limits, strides } });
  return [
    sample(float, [5], [1], [4]),
    sample(float, [3, 7], [0, 1], [3, 7], [2, 3]),
    sample("i32", [4, 3], [1, 2], [4, 3], [1, 1]),
    sample("bool", [5], [0], [5], [2]),
    sample(float, [2, 4], [1, 3], [2, 4], [5, 2]),
    { ...sample(float, [4], [2], [2]), for: "values" },
    { ...sample(float, [0, 3], [0, 1], [0, 3]), for: "values" },
    { ...sample("u8", [], [], []), for: "values" },
  ];
};

const pad: SampleMaker = (random, float) => {
  const sample = (
    dtype: DType,
    shape: Shape,
    value: number,
    low: readonly number[],
    high: readonly number[],
    interior: readonly number[] = shape.map(() => 0),
  ): Sample => ({ inputs: [random.numbers(dtype, shape)], params: { value, low, high, interior } });
  return [
    sample(float, [3], 0, [1], [2]),
    sample(float, [2, 3], 1.5, [0, 1], [1, 0], [2, 1]),
    sample(float, [4, 2], -1, [-1, 1], [-2, 0]),
    sample("i32", [3], 7, [2], [-1], [1]),
    sample("bool", [2], 1, [1], [1]),
    sample("u8", [2, 2], 200, [0, 1], [1, 0]),
    { ...sample(float, [3], Number.NEGATIVE_INFINITY, [1], [1]), for: "values" },
    { ...sample(float, [0], 2, [1], [2], [1]), for: "values" },
    { ...sample(float, [2, 0], 2, [0, 1], [0, 1]), for: "values" },
    { ...sample("i32", [3], 0, [-1], [-2]), for: "values" },
    { ...sample("bool", [1], 0, [0], [2], [3]), for: "values" },
  ];
};

export const partSamples: Readonly<Record<string, SampleMaker>> = { slice, pad };

/** Among them one before the start and one behind the end of an axis of 3. */
const indices = (shape: Shape) => {
  const some = [2, 0, -1, 5, 1, 1, 0, 2, 2, 1, 0, 0];
  return dense(
    "i32",
    shape,
    some.slice(
      0,
      shape.reduce((product, n) => product * n, 1),
    ),
  );
};

const gather: SampleMaker = (random, float) => {
  const sample = (dtype: DType, operand: Shape, index: Shape, batchDims: number): Sample => ({
    inputs: [random.numbers(dtype, operand), indices(index)],
    params: { batchDims },
  });
  return [
    sample(float, [3, 2], [4], 0),
    sample(float, [2, 3], [2, 2], 1),
    sample("i32", [3], [2, 2], 0),
    { ...sample("bool", [3, 1], [3], 0), for: "values" },
    { ...sample("u8", [2, 3, 2], [2, 2], 1), for: "values" },
    { ...sample(float, [3], [], 0), for: "values" },
  ];
};

/** Indices of which several name the same row, and some none. */
const scatterAdd: SampleMaker = (random, float) => {
  const sample = (dtype: DType, operand: Shape, index: Shape, batchDims: number): Sample => ({
    inputs: [
      random.numbers(dtype, operand),
      indices(index),
      random.numbers(dtype, [...index, ...operand.slice(batchDims + 1)]),
    ],
    params: { batchDims },
    floor: 1,
  });
  return [
    sample(float, [3, 2], [6], 0),
    sample(float, [2, 3], [2, 3], 1),
    sample("i32", [3], [2, 2], 0),
    { ...sample("u8", [3, 1], [6], 0), for: "values" },
    { ...sample("u32", [3], [], 0), for: "values" },
  ];
};

/** The row takes indices of which no two in range are equal. */
const scatterSet: SampleMaker = (random, float) => {
  const sample = (
    dtype: DType,
    operand: Shape,
    index: Shape,
    at: readonly number[],
    batchDims: number,
  ): Sample => ({
    inputs: [
      random.numbers(dtype, operand),
      dense("i32", index, at),
      random.numbers(dtype, [...index, ...operand.slice(batchDims + 1)]),
    ],
    params: { batchDims },
  });
  return [
    sample(float, [4, 2], [3], [2, -1, 0], 0),
    sample(float, [2, 3], [2, 2], [1, 0, 7, 2], 1),
    sample("i32", [3], [2, 2], [1, 9, -4, 2], 0),
    { ...sample("bool", [3, 2], [2], [2, 0], 0), for: "values" },
    { ...sample("u8", [3], [], [1], 0), for: "values" },
  ];
};

const lastWrites: SampleMaker = () => [
  { inputs: [dense("i32", [6], [2, 0, 2, 1, 0, 2])], params: { rows: 3 } },
  { inputs: [dense("i32", [2, 3], [1, 1, 0, 2, 1, 2])], params: { rows: 3 } },
];

const dynamicSlice: SampleMaker = (random, float) => {
  const sample = (dtype: DType, shape: Shape, starts: readonly number[], sizes: Shape): Sample => ({
    inputs: [random.numbers(dtype, shape), ...starts.map((start) => dense("i32", [], [start]))],
    params: { sizes },
  });
  return [
    sample(float, [5], [1], [3]),
    sample(float, [3, 4], [1, 9], [2, 3]),
    { ...sample("i32", [3, 4], [-2, 1], [3, 2]), for: "values" },
    { ...sample("bool", [4, 1], [2, 0], [1, 1]), for: "values" },
  ];
};

const dynamicUpdateSlice: SampleMaker = (random, float) => {
  const sample = (dtype: DType, shape: Shape, update: Shape, starts: readonly number[]): Sample => ({
    inputs: [
      random.numbers(dtype, shape),
      random.numbers(dtype, update),
      ...starts.map((start) => dense("i32", [], [start])),
    ],
    params: {},
  });
  return [
    sample(float, [5], [3], [1]),
    sample(float, [3, 3], [2, 2], [1, 9]),
    { ...sample("i32", [3, 4], [3, 2], [-2, 1]), for: "values" },
    { ...sample("u8", [4, 1], [1, 1], [2, 0]), for: "values" },
    { ...sample("bool", [2, 2], [1, 2], [1, 0]), for: "values" },
  ];
};

const { POSITIVE_INFINITY: inf, NaN: nan } = Number;

const sort: SampleMaker = (random, float) => [
  { inputs: [distinct(random, float, [5])], params: { axis: 0 } },
  { inputs: [distinct(random, float, [2, 3]), random.numbers(float, [2, 3])], params: { axis: 1 } },
  { inputs: [random.numbers("i32", [4, 2], -3, 3), random.numbers("u8", [4, 2])], params: { axis: 0 } },
  {
    inputs: [
      dense(float, [8], [3, nan, -inf, 0, -0, inf, nan, -1]),
      dense("i32", [8], [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
    params: { axis: 0 },
    for: "values",
  },
  { inputs: [dense("u32", [4], [4294967295, 0, 2147483648, 7])], params: { axis: 0 }, for: "values" },
  { inputs: [dense("i32", [4], [-2147483648, 5, 2147483647, -1])], params: { axis: 0 }, for: "values" },
];

const cumsum: SampleMaker = (random, float) => [
  { inputs: [random.numbers(float, [5])], params: { axis: 0, reverse: false }, floor: 1 },
  { inputs: [random.numbers(float, [2, 3])], params: { axis: 1, reverse: true }, floor: 1 },
  { inputs: [random.numbers("i32", [4, 2])], params: { axis: 0, reverse: false } },
  { inputs: [random.numbers("u8", [9], 100, 255)], params: { axis: 0, reverse: true }, for: "values" },
  { inputs: [random.numbers(float, [40])], params: { axis: 0, reverse: false }, floor: 10, for: "values" },
  {
    inputs: [random.numbers(float, [2, 300])],
    params: { axis: 1, reverse: false },
    floor: 30,
    for: "values",
  },
  { inputs: [random.numbers(float, [300])], params: { axis: 0, reverse: true }, floor: 30, for: "values" },
];

export const indexingSamples: Readonly<Record<string, SampleMaker>> = {
  gather,
  scatterAdd,
  scatterSet,
  lastWrites,
  dynamicSlice,
  dynamicUpdateSlice,
  sort,
  cumsum,
};
