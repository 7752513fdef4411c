import type { DType } from "../../engine/index.ts";
import { dense } from "../dense.ts";
import type { Sample, SampleMaker } from "../sample.ts";
import type { Sampler } from "../sampler.ts";

const { POSITIVE_INFINITY: inf, NaN: nan } = Number;

/** Numbers at the edges of what 32-bit types hold. */
export const edges: Readonly<Record<string, readonly number[]>> = {
  float: [0, -0, 1, -1, 0.5, -2.5, 3.5, 1e-20, -1e-20, 1e20, -1e20, inf, -inf, nan],
  i32: [0, 1, -1, 2, -2, 7, -7, 2147483647, -2147483648, -2147483647, 65536, 123456789],
  u32: [0, 1, 2, 7, 255, 256, 2147483647, 2147483648, 4294967295, 3000000000],
  u8: [0, 1, 2, 7, 100, 127, 128, 200, 254, 255],
  bool: [0, 1],
};

export const edgesOf = (dtype: DType): readonly number[] =>
  edges[dtype] ?? (edges.float as readonly number[]);

interface UnaryFloat {
  /** Where it is smooth. */
  readonly low: number;
  readonly high: number;
  /** Edges to try instead of the usual ones. */
  readonly edges?: readonly number[];
  /** Results smaller than this count as this, where an engine's own function is only that good near 0. */
  readonly floor?: number;
}

/** Samples of a function of one floating-point number. */
function float(range: UnaryFloat): SampleMaker {
  return (random, dtype) => {
    const at = range.edges ?? edgesOf(dtype);
    const numbers = (shape: readonly number[]) => random.numbers(dtype, shape, range.low, range.high);
    const samples: readonly Sample[] = [
      { inputs: [numbers([5])] },
      { inputs: [numbers([])], for: "values" },
      { inputs: [numbers(random.shape())], for: "values" },
      { inputs: [numbers(random.shape({ minRank: 1, empty: true }))], for: "values" },
      { inputs: [dense(dtype, [at.length], at)], for: "values" },
    ];
    const { floor } = range;
    return floor === undefined ? samples : samples.map((sample) => ({ ...sample, floor }));
  };
}

/** Samples of a function of one number at places of the maker's own. */
const at =
  (place: (random: Sampler) => number): SampleMaker =>
  (random, dtype) => [
    {
      inputs: [
        dense(
          dtype,
          [2, 3],
          Array.from({ length: 6 }, () => place(random)),
        ),
      ],
    },
    { inputs: [dense(dtype, [edgesOf(dtype).length], edgesOf(dtype))], for: "values" },
    { inputs: [random.numbers(dtype, random.shape({ minRank: 1, empty: true }))], for: "values" },
  ];

/** Samples of one input of each of several element types, edges included. */
export function ofTypes(...dtypes: readonly DType[]): SampleMaker {
  return (random) =>
    dtypes.flatMap((dtype): Sample[] => [
      { inputs: [random.numbers(dtype, random.shape({ minRank: 1 }))] },
      { inputs: [dense(dtype, [edgesOf(dtype).length], edgesOf(dtype))], for: "values" },
      { inputs: [random.numbers(dtype, [2, 0])], for: "values" },
    ]);
}

export const together =
  (...makers: readonly SampleMaker[]): SampleMaker =>
  (random, dtype) =>
    makers.flatMap((maker) => maker(random, dtype));

/** A number whose distance to the next whole one and to the next half is not small. */
const betweenWholes = (random: Sampler): number =>
  random.int(-3, 3) + random.pick([0, 0.5] as [number, number]) + random.float(0.1, 0.4);
const awayFromZero = (random: Sampler): number => random.pick([1, -1]) * random.float(0.3, 3);

/** Angles of which f32 knows the sine: beyond, the argument itself is coarser than a turn. */
const angles = [0, -0, 1, -1, 1e-20, Math.PI, 31.4, -100, 1000, inf, -inf, nan];

export const unarySamples: Readonly<Record<string, SampleMaker>> = {
  neg: together(float({ low: -3, high: 3 }), ofTypes("i32", "u32", "u8")),
  exp: float({ low: -3, high: 3, edges: [0, -0, 1, 88, 89.5, -80, -110, 1e20, inf, -inf, nan] }),
  expm1: float({ low: -2, high: 2, edges: [0, 1e-6, -1e-6, 1e-20, 0.5, 88, 89.5, -30, inf, -inf, nan] }),
  log: float({ low: 0.2, high: 5, edges: [0, 1, 1.0001, 1e-20, 1e20, -1, inf, nan] }),
  log1p: float({ low: -0.7, high: 4, edges: [0, 1e-6, -1e-6, 1e-20, 0.5, -1, -2, 1e20, inf, nan] }),
  sqrt: float({ low: 0.3, high: 5, edges: [0, 1, 1e-20, 1e20, -1, inf, nan] }),
  rsqrt: float({ low: 0.3, high: 5, edges: [0, 1, 1e-20, 1e20, -1, inf, nan] }),
  sin: float({ low: -4, high: 4, edges: angles, floor: 0.01 }),
  cos: float({ low: -4, high: 4, edges: angles, floor: 0.01 }),
  tan: float({ low: -1.2, high: 1.2, edges: [0, 1, -1, 1e-20, Math.PI, -100, inf, nan], floor: 0.01 }),
  tanh: float({
    low: -2,
    high: 2,
    edges: [0, 1e-6, 1e-20, 0.5, 9, -9, 30, 1e20, inf, -inf, nan],
    floor: 0.05,
  }),
  logistic: float({ low: -4, high: 4, edges: [0, 20, -20, 80, -80, 1e20, -1e20, inf, -inf, nan] }),
  erf: float({ low: -2, high: 2, edges: [0, 1e-6, -0.5, 1, 3, -3.9, 10, 1e20, inf, -inf, nan], floor: 0.1 }),
  abs: together(at(awayFromZero), ofTypes("i32")),
  sign: together(at(awayFromZero), ofTypes("i32")),
  floor: at(betweenWholes),
  ceil: at(betweenWholes),
  round: at(betweenWholes),
  isFinite: at(awayFromZero),
  not: ofTypes("i32", "u32", "u8", "bool"),
  popcount: ofTypes("i32", "u32", "u8"),
  identity: together(float({ low: -1, high: 1 }), ofTypes("i32", "bool")),
  materialize: together(float({ low: -1, high: 1 }), ofTypes("i32", "bool")),
  // Its derivative is no derivative of its values; it has cases of its own.
  stopGradient: (random, dtype) => [
    { inputs: [random.numbers(dtype, [3])], for: "batching" },
    ...ofTypes("i32", "bool")(random, dtype),
  ],
};
