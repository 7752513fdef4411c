import type { DType, Shape } from "../../engine/index.ts";
import type { Sample, SampleMaker } from "../sample.ts";

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
