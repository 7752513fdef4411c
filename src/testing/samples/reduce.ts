import type { DType, Shape } from "../../engine/index.ts";
import type { Dense } from "../dense.ts";
import { dense, sizeOf } from "../dense.ts";
import type { Sample, SampleMaker } from "../sample.ts";
import type { Sampler } from "../sampler.ts";
import { together } from "./unary.ts";

/** Numbers of which no two are near each other, in no order. */
export function distinct(random: Sampler, dtype: DType, shape: Shape): Dense {
  const size = sizeOf(shape);
  const steps = Array.from({ length: size }, (_, i) => i);
  for (let i = size - 1; i > 0; i--) {
    const k = random.int(0, i);
    [steps[i], steps[k]] = [steps[k] as number, steps[i] as number];
  }
  return dense(
    dtype,
    shape,
    steps.map((step) => (step - size / 2) * 0.4 + random.float(0, 0.2)),
  );
}

const shapes: readonly (readonly [Shape, readonly number[]])[] = [
  [[5], [0]],
  [[2, 3], [1]],
  [
    [2, 3, 2],
    [0, 2],
  ],
];

/** Sums can be small where their parts are not. */
const floor = 0.1;

type Numbers = (random: Sampler, dtype: DType, shape: Shape) => Dense;
const anywhere: Numbers = (random, dtype, shape) => random.numbers(dtype, shape);

const float =
  (numbers: Numbers): SampleMaker =>
  (random, dtype) => [
    ...shapes.map(
      ([shape, axes]): Sample => ({ inputs: [numbers(random, dtype, shape)], params: { axes }, floor }),
    ),
    { inputs: [numbers(random, dtype, [3, 1])], params: { axes: [1] }, for: "values" },
    { inputs: [numbers(random, dtype, [2, 0])], params: { axes: [1] }, for: "values" },
    { inputs: [numbers(random, dtype, [0, 2])], params: { axes: [1] }, for: "values" },
    { inputs: [numbers(random, dtype, [37])], params: { axes: [0] }, for: "values", floor: 1 },
  ];

const whole: SampleMaker = (random) =>
  (["i32", "u32", "u8"] as const).flatMap((dtype): Sample[] => [
    { inputs: [random.numbers(dtype, [3, 4])], params: { axes: [0] } },
    { inputs: [random.numbers(dtype, [9], 0, 255)], params: { axes: [0] }, for: "values" },
    { inputs: [random.numbers(dtype, [2, 0])], params: { axes: [1] }, for: "values" },
  ]);

const { POSITIVE_INFINITY: inf, NaN: nan } = Number;

const special: SampleMaker = (_random, dtype) =>
  [
    [1, inf, 2],
    [1, -inf, 2],
    [inf, nan, -inf],
    [-inf, -inf, -inf],
    [2, 2, 1],
  ].map((data) => ({ inputs: [dense(dtype, [3], data)], params: { axes: [0] }, for: "values" }));

const truth: SampleMaker = (random) => [
  { inputs: [random.numbers("bool", [2, 3])], params: { axes: [1] } },
  { inputs: [random.numbers("bool", [2, 2, 2])], params: { axes: [0, 2] } },
  { inputs: [random.numbers("bool", [3, 0])], params: { axes: [1] }, for: "values" },
  { inputs: [random.numbers("bool", [1])], params: { axes: [0] }, for: "values" },
];

/** Not at 0, where the product's derivative by the others vanishes; one sample has zeros for that. */
const products: SampleMaker = (random, dtype) => [
  ...shapes.map(
    ([shape, axes]): Sample => ({ inputs: [random.numbers(dtype, shape, 0.5, 1.5)], params: { axes } }),
  ),
  { inputs: [dense(dtype, [3, 3], [1, 0, 2, 0.5, 1.5, -1, 0, 0, 3])], params: { axes: [1] }, for: "values" },
  { inputs: [random.numbers(dtype, [0])], params: { axes: [0] }, for: "values" },
];

const argExtremum: SampleMaker = (random, dtype) =>
  (["max", "min"] as const).flatMap((kind): Sample[] => [
    { inputs: [distinct(random, dtype, [2, 3])], params: { axis: 1, kind } },
    { inputs: [distinct(random, dtype, [4])], params: { axis: 0, kind } },
    {
      inputs: [dense(dtype, [2, 4], [1, 3, 3, 1, -inf, 0, nan, nan])],
      params: { axis: 1, kind },
      for: "values",
    },
    { inputs: [dense(dtype, [2, 2], [-inf, -inf, inf, inf])], params: { axis: 1, kind }, for: "values" },
    { inputs: [dense("i32", [4], [-5, 3, 3, -5])], params: { axis: 0, kind }, for: "values" },
    { inputs: [dense("u32", [3], [4294967295, 0, 1])], params: { axis: 0, kind }, for: "values" },
    { inputs: [dense("u8", [3, 1], [200, 0, 1])], params: { axis: 0, kind }, for: "values" },
    { inputs: [random.numbers("i32", [0, 3])], params: { axis: 1, kind }, for: "values" },
  ]);

export const reduceSamples: Readonly<Record<string, SampleMaker>> = {
  reduceSum: together(float(anywhere), whole, special),
  reduceMax: together(float(distinct), whole, special),
  reduceMin: together(float(distinct), whole, special),
  reduceProd: together(products, whole),
  reduceAnd: truth,
  reduceOr: truth,
  argExtremum,
};
