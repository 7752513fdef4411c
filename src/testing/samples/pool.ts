import type { DType, Shape } from "../../engine/index.ts";
import type { Sample, SampleMaker } from "../sample.ts";
import { distinct } from "./reduce.ts";

type Axes = readonly number[];

const pool: SampleMaker = (random, float) => {
  const sample = (
    dtype: DType,
    shape: Shape,
    kind: "max" | "sum",
    window: Axes,
    strides: Axes,
    padding: readonly (readonly [number, number])[] = shape.map(() => [0, 0]),
  ): Sample => ({
    inputs: [kind === "max" ? distinct(random, dtype, shape) : random.numbers(dtype, shape)],
    params: { kind, window, strides, padding },
    floor: 1,
  });
  const edge = (given: Sample): Sample => ({ ...given, for: "values" });
  return [
    sample(
      float,
      [2, 5],
      "max",
      [1, 2],
      [1, 2],
      [
        [0, 0],
        [1, 0],
      ],
    ),
    sample(
      float,
      [4, 3],
      "sum",
      [2, 2],
      [1, 2],
      [
        [0, 1],
        [1, 0],
      ],
    ),
    { ...sample(float, [20], "sum", [17], [2], [[1, 1]]), floor: 4 },
    sample("i32", [5], "max", [3], [1], [[1, 1]]),
    edge(sample(float, [40], "max", [18], [3])),
    edge(sample("u8", [6], "sum", [4], [1])),
    edge(sample("u32", [4], "sum", [2], [5])),
    edge(sample(float, [2, 3], "max", [1, 5], [1, 1])),
    edge(sample(float, [0, 3], "sum", [1, 2], [1, 1])),
    edge(sample(float, [2], "max", [1], [1], [[2, 0]])),
  ];
};

export const poolSamples: Readonly<Record<string, SampleMaker>> = { pool };
