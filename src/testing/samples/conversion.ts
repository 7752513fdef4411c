import type { DType, Shape } from "../../engine/index.ts";
import { dense, sizeOf } from "../dense.ts";
import type { Sample, SampleMaker } from "../sample.ts";
import { edgesOf } from "./unary.ts";

/** Whole numbers that every type but bool can hold, and fractions to cut. */
const convertible = [0, 1, 2.75, 7.5, 100.25, 127];

const convert: SampleMaker = (random, float) => {
  const types: readonly DType[] = [float, "i32", "u32", "u8", "bool"];
  return [
    { inputs: [random.numbers(float, [2, 2])], params: { dtype: float } },
    ...types.flatMap((from) =>
      types.map(
        (dtype): Sample => ({
          inputs: [dense(from, [convertible.length], convertible)],
          params: { dtype },
          for: "values",
        }),
      ),
    ),
    { inputs: [dense("i32", [3], [-1, -200, 300])], params: { dtype: float } },
    { inputs: [dense(float, [4], [-1.5, -0.5, -0, 1e-20])], params: { dtype: "bool" } },
    { inputs: [dense(float, [4], [-1.5, -0.5, -0, 2e4])], params: { dtype: "i32" } },
    { inputs: [dense("i32", [3], [-1, 256, 300])], params: { dtype: "u8" }, for: "values" },
    { inputs: [dense("i32", [2], [-1, -2147483648])], params: { dtype: "u32" }, for: "values" },
    { inputs: [dense("u32", [2], [4294967295, 2147483648])], params: { dtype: "i32" }, for: "values" },
    { inputs: [dense("u32", [2], [4294967295, 3000000000])], params: { dtype: float }, for: "values" },
    { inputs: [dense(float, [2], [3e9, 4e9])], params: { dtype: "u32" }, for: "values" },
    ...(["i32", "u32", "u8"] as const).map((dtype): Sample => {
      const beyond = [2e9, -2e9, 3e9, -3e9, 300, -5, 5e9, Number.POSITIVE_INFINITY, Number.NaN];
      return { inputs: [dense(float, [beyond.length], beyond)], params: { dtype }, for: "values" };
    }),
    { inputs: [random.numbers(float, [0])], params: { dtype: "i32" }, for: "values" },
  ];
};

const bitcast: SampleMaker = () => {
  const words: readonly DType[] = ["f32", "i32", "u32"];
  return words.flatMap((from) =>
    words.map((dtype): Sample => {
      const numbers = edgesOf(from).filter((value) => !Number.isNaN(value));
      return { inputs: [dense(from, [numbers.length], numbers)], params: { dtype }, for: "batching" };
    }),
  );
};

const constant: SampleMaker = (random, float) => {
  const sample = (dtype: DType, shape: Shape, data: number | readonly number[]): Sample => ({
    inputs: [],
    params: { dtype, shape, data },
  });
  const types: readonly DType[] = [float, "i32", "u32", "u8", "bool"];
  return [
    ...types.flatMap((dtype) => [
      sample(dtype, [2, 2], random.numbers(dtype, [2, 2]).data),
      sample(dtype, [edgesOf(dtype).length], edgesOf(dtype)),
      sample(dtype, [2, 3], 1),
    ]),
    sample(float, [], Number.NaN),
    sample(float, [2], -0),
    sample("i32", [0, 2], []),
    sample("u32", [3], 4294967295),
  ];
};

const iota: SampleMaker = (_random, float) => {
  const types: readonly DType[] = [float, "i32", "u32", "u8"];
  const all: readonly (readonly [Shape, number])[] = [
    [[5], 0],
    [[2, 3], 1],
    [[3, 1, 2], 0],
    [[0, 2], 1],
  ];
  const sample = (dtype: DType, shape: Shape, axis: number): Sample => ({
    inputs: [],
    params: { dtype, shape, axis },
  });
  return [
    ...types.flatMap((dtype) => all.map(([shape, axis]) => sample(dtype, shape, axis))),
    sample("u8", [300], 0),
  ];
};

/** Several values of different types and shapes at once. */
const barrier: SampleMaker = (random, float) => {
  const shapes: readonly Shape[] = [[2], [], [2, 2]];
  return [
    { inputs: shapes.slice(0, 1).map((shape) => random.numbers(float, shape)) },
    { inputs: shapes.map((shape, i) => random.numbers(i === 1 ? "i32" : float, shape)) },
    { inputs: [random.numbers("bool", [sizeOf([2, 0])]), random.numbers("u8", [3])], for: "values" },
  ];
};

export const conversionSamples: Readonly<Record<string, SampleMaker>> = {
  convert,
  bitcast,
  constant,
  iota,
  barrier,
};
