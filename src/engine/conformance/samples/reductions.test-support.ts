import type { DType, Shape } from "../../index.ts";
import { type Dense, dense, sizeOf } from "../dense.test-support.ts";
import type { Sample, SampleMaker, Sampler } from "../sampler.test-support.ts";
import { together } from "./elementwise.test-support.ts";

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

type SampleNumbers = (random: Sampler, dtype: DType, shape: Shape) => Dense;
const anywhere: SampleNumbers = (random, dtype, shape) => random.numbers(dtype, shape);

const float =
  (numbers: SampleNumbers): SampleMaker =>
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

type SampleAxes = readonly number[];

const pool: SampleMaker = (random, float) => {
  const sample = (
    dtype: DType,
    shape: Shape,
    kind: "max" | "sum",
    window: SampleAxes,
    strides: SampleAxes,
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

const dotGeneral: SampleMaker = (random, float) => {
  const sample = (
    dtype: DType,
    left: Shape,
    right: Shape,
    contract: readonly [SampleAxes, SampleAxes],
    batch: readonly [SampleAxes, SampleAxes] = [[], []],
  ): Sample => ({
    inputs: [random.numbers(dtype, left), random.numbers(dtype, right)],
    params: { lhsContract: contract[0], rhsContract: contract[1], lhsBatch: batch[0], rhsBatch: batch[1] },
    floor: 1,
  });
  const edge = (given: Sample): Sample => ({ ...given, for: "values" });
  return [
    sample(float, [2, 3], [3, 2], [[1], [0]]),
    sample(float, [2, 3, 2], [2, 2, 3], [[2], [1]], [[0], [0]]),
    sample(
      float,
      [2, 3],
      [3, 2, 2],
      [
        [0, 1],
        [2, 0],
      ],
    ),
    sample(float, [3, 2], [2, 3, 2], [[], []], [[1], [0]]),
    sample("i32", [2, 3], [3, 1], [[1], [0]]),
    edge(sample(float, [3], [3], [[0], [0]])),
    edge(sample(float, [], [2], [[], []])),
    edge(sample(float, [2, 1], [1, 3], [[1], [0]])),
    edge(sample(float, [5, 17], [17, 3], [[1], [0]])),
    edge(sample("u8", [2, 40], [40], [[1], [0]])),
    edge(sample("u32", [2, 2], [2], [[0], [0]])),
    edge(sample(float, [2, 0], [0, 3], [[1], [0]])),
    edge(sample("i32", [2, 0], [0, 3], [[1], [0]])),
    edge(sample(float, [0, 2], [2, 3], [[1], [0]])),
  ];
};

interface Convolution {
  readonly x: Shape;
  readonly w: Shape;
  readonly strides?: SampleAxes;
  readonly padding?: readonly (readonly [number, number])[];
  readonly lhsDilation?: SampleAxes;
  readonly rhsDilation?: SampleAxes;
  readonly groups?: number;
  readonly lhsSpec?: SampleAxes;
  readonly rhsSpec?: SampleAxes;
  readonly outSpec?: SampleAxes;
}

const convolution: SampleMaker = (random, float) => {
  const sample = (dtype: DType, given: Convolution): Sample => {
    const spatial = given.x.slice(2);
    const order = given.x.map((_, i) => i);
    const ones = spatial.map(() => 1);
    const { x, w, ...params } = given;
    return {
      inputs: [random.numbers(dtype, x), random.numbers(dtype, w)],
      params: {
        strides: ones,
        padding: spatial.map(() => [0, 0]),
        lhsDilation: ones,
        rhsDilation: ones,
        groups: 1,
        lhsSpec: order,
        rhsSpec: order,
        outSpec: order,
        ...params,
      },
      floor: 1,
    };
  };
  const edge = (given: Sample): Sample => ({ ...given, for: "values" });
  return [
    // Layout NWC, WIO.
    sample(float, {
      x: [2, 5, 2],
      w: [3, 2, 2],
      strides: [2],
      padding: [[1, 1]],
      lhsSpec: [0, 2, 1],
      rhsSpec: [2, 1, 0],
      outSpec: [0, 2, 1],
    }),
    sample(float, { x: [1, 4, 5], w: [2, 2, 2], groups: 2, padding: [[0, 1]], rhsDilation: [2] }),
    sample(float, {
      x: [1, 1, 3, 3],
      w: [1, 1, 2, 2],
      lhsDilation: [2, 1],
      padding: [
        [1, 0],
        [0, 1],
      ],
    }),
    edge(
      sample(float, {
        x: [1, 2, 4, 3],
        w: [2, 2, 3, 3],
        strides: [1, 2],
        padding: [
          [1, 1],
          [1, 1],
        ],
      }),
    ),
    edge(sample(float, { x: [1, 1, 6], w: [1, 1, 2], padding: [[-1, -2]] })),
    edge(sample(float, { x: [1, 1, 1, 1, 2], w: [1, 1, 1, 1, 2] })),
    edge(sample("i32", { x: [1, 1, 4], w: [1, 1, 2] })),
    edge(sample(float, { x: [0, 1, 4], w: [1, 1, 2] })),
    edge(sample(float, { x: [1, 1, 1], w: [2, 1, 3] })),
    edge(sample(float, { x: [2, 0, 4], w: [1, 0, 2] })),
  ];
};

export const productSamples: Readonly<Record<string, SampleMaker>> = { dotGeneral, convolution };
