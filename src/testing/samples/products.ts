import type { DType, Shape } from "../../engine/index.ts";
import type { Sample, SampleMaker } from "../sample.ts";

type Axes = readonly number[];

const dotGeneral: SampleMaker = (random, float) => {
  const sample = (
    dtype: DType,
    left: Shape,
    right: Shape,
    contract: readonly [Axes, Axes],
    batch: readonly [Axes, Axes] = [[], []],
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
  readonly strides?: Axes;
  readonly padding?: readonly (readonly [number, number])[];
  readonly lhsDilation?: Axes;
  readonly rhsDilation?: Axes;
  readonly groups?: number;
  readonly lhsSpec?: Axes;
  readonly rhsSpec?: Axes;
  readonly outSpec?: Axes;
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
