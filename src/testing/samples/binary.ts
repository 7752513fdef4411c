import type { DType } from "../../engine/index.ts";
import { dense } from "../dense.ts";
import type { Sample, SampleMaker } from "../sample.ts";
import type { Sampler } from "../sampler.ts";
import { edgesOf, together } from "./unary.ts";

/** Every number of one list with every number of another. */
function pairs(dtype: DType, left: readonly number[], right: readonly number[], params?: unknown): Sample {
  const shape = [left.length, right.length];
  const all = left.flatMap((x) => right.map((y) => [x, y] as const));
  return {
    inputs: [
      dense(
        dtype,
        shape,
        all.map(([x]) => x),
      ),
      dense(
        dtype,
        shape,
        all.map(([, y]) => y),
      ),
    ],
    params,
    for: "values",
  };
}

type Place = (random: Sampler) => readonly [x: number, y: number];

/** Floating-point samples: smooth at `place`, then all pairs of edges. */
function float(place: Place, edges?: readonly number[]): SampleMaker {
  return (random, dtype) => {
    const some = (shape: readonly number[], count: number): Sample => {
      const points = Array.from({ length: count }, () => place(random));
      return {
        inputs: [0, 1].map((i) =>
          dense(
            dtype,
            shape,
            points.map((point) => point[i] as number),
          ),
        ),
      };
    };
    const at = edges ?? edgesOf(dtype);
    return [
      some([2, 3], 6),
      { ...some([], 1), for: "values" },
      { ...some([3, 0], 0), for: "values" },
      pairs(dtype, at, at),
    ];
  };
}

/** Samples of whole numbers: a random shape, then all pairs of edges. */
function integers(
  dtypes: readonly DType[],
  right: (dtype: DType) => readonly number[] = edgesOf,
): SampleMaker {
  return (random) =>
    dtypes.flatMap((dtype) => {
      const shape = random.shape({ minRank: 1 });
      return [
        { inputs: [random.numbers(dtype, shape), random.numbers(dtype, shape, 1, 5)] },
        pairs(dtype, edgesOf(dtype), right(dtype)),
      ];
    });
}

const numbers: readonly DType[] = ["i32", "u32", "u8"];
const bits: readonly DType[] = ["i32", "u32", "u8", "bool"];

const anywhere: Place = (random) => [random.float(-2, 2), random.float(-2, 2)];
const divisible: Place = (random) => [random.float(-2, 2), random.pick([1, -1]) * random.float(0.6, 2)];
const apart: Place = (random) => {
  const x = random.float(-2, 2);
  return [x, x + random.pick([1, -1]) * random.float(0.3, 1)];
};
/** Between two multiples of the divisor. */
const withRest: Place = (random) => {
  const y = random.pick([1, -1]) * random.float(0.8, 2);
  return [y * (random.int(-3, 2) + random.float(0.2, 0.8)), y];
};

/** Shifts by less than the width, by the width and by more. */
const shiftsBy = (dtype: DType): readonly number[] =>
  dtype === "u8" ? [0, 1, 3, 7, 8, 9, 31, 200] : [0, 1, 5, 31, 32, 33, 255, ...(dtype === "i32" ? [-1] : [])];

const directions = ["EQ", "NE", "LT", "LE", "GT", "GE"] as const;

const compare: SampleMaker = (random, float) =>
  directions.flatMap((direction, i) => {
    const dtype = ([float, "i32", "u32", "u8", "bool", float] as const)[i] as DType;
    const shape = random.shape({ minRank: 1, empty: i === 3 });
    return [
      { inputs: [random.numbers(dtype, shape), random.numbers(dtype, shape)], params: { direction } },
      ...[float, dtype].map((type) => pairs(type, edgesOf(type), edgesOf(type), { direction })),
    ];
  });

const select: SampleMaker = (random, float) => {
  const sample = (dtype: DType, shape: readonly number[], scalar: boolean): Sample => ({
    inputs: [
      random.numbers("bool", scalar ? [] : shape),
      random.numbers(dtype, shape),
      random.numbers(dtype, shape),
    ],
  });
  return [
    sample(float, [3, 2], false),
    sample(float, [3], true),
    sample("bool", [2, 2], false),
    { ...sample("u8", [], false), for: "values" },
    { ...sample("i32", [0, 2], false), for: "values" },
  ];
};

const powers = [
  0,
  -0,
  1,
  2,
  0.5,
  -1,
  3,
  -2,
  1e20,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
];

export const binarySamples: Readonly<Record<string, SampleMaker>> = {
  add: together(float(anywhere), integers(numbers)),
  sub: together(float(anywhere), integers(numbers)),
  mul: together(float(anywhere), integers(numbers)),
  div: together(float(divisible), integers(numbers)),
  rem: together(float(withRest, [1, -1, 0.5, 2.5, -7.5, 3]), integers(numbers)),
  pow: float((random) => [random.float(0.3, 2), random.float(-2, 2)], powers),
  max: together(float(apart), integers(numbers)),
  min: together(float(apart), integers(numbers)),
  atan2: float(divisible),
  and: integers(bits),
  or: integers(bits),
  xor: integers(bits),
  shiftLeft: integers(numbers, shiftsBy),
  shiftRightLogical: integers(numbers, shiftsBy),
  shiftRightArithmetic: integers(["i32"], shiftsBy),
  compare,
  select,
};
