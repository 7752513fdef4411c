import type { DType, Shape } from "../../engine/index.ts";
import type { Sample, SampleMaker } from "../sample.ts";

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
