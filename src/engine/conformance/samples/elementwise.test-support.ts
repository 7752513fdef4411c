import type { DType, Shape } from "../../index.ts";
import { dense, sizeOf } from "../dense.test-support.ts";
import type { Sample, SampleMaker, Sampler } from "../sampler.test-support.ts";

const { POSITIVE_INFINITY: inf, NaN: nan } = Number;

/** Numbers at the edges of what 32-bit types hold. */
const edges: Readonly<Record<string, readonly number[]>> = {
  float: [0, -0, 1, -1, 0.5, -2.5, 3.5, 1e-20, -1e-20, 1e20, -1e20, inf, -inf, nan],
  i32: [0, 1, -1, 2, -2, 7, -7, 2147483647, -2147483648, -2147483647, 65536, 123456789],
  u32: [0, 1, 2, 7, 255, 256, 2147483647, 2147483648, 4294967295, 3000000000],
  u8: [0, 1, 2, 7, 100, 127, 128, 200, 254, 255],
  bool: [0, 1],
};

const edgesOf = (dtype: DType): readonly number[] => edges[dtype] ?? (edges.float as readonly number[]);

interface UnaryFloat {
  /** The range in which it is smooth. */
  readonly low: number;
  readonly high: number;
  /** Edges to try instead of the usual ones. */
  readonly edges?: readonly number[];
  /** Results smaller than this count as this, where an engine's own function is only that good near 0. */
  readonly floor?: number;
}

/** Samples of a function of one floating-point number. */
function floatsFrom(range: UnaryFloat): SampleMaker {
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
function ofTypes(...dtypes: readonly DType[]): SampleMaker {
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
  neg: together(floatsFrom({ low: -3, high: 3 }), ofTypes("i32", "u32", "u8")),
  exp: floatsFrom({ low: -3, high: 3, edges: [0, -0, 1, 88, 89.5, -80, -110, 1e20, inf, -inf, nan] }),
  expm1: floatsFrom({ low: -2, high: 2, edges: [0, 1e-6, -1e-6, 1e-20, 0.5, 88, 89.5, -30, inf, -inf, nan] }),
  log: floatsFrom({ low: 0.2, high: 5, edges: [0, 1, 1.0001, 1e-20, 1e20, -1, inf, nan] }),
  log1p: floatsFrom({ low: -0.7, high: 4, edges: [0, 1e-6, -1e-6, 1e-20, 0.5, -1, -2, 1e20, inf, nan] }),
  sqrt: floatsFrom({ low: 0.3, high: 5, edges: [0, 1, 1e-20, 1e20, -1, inf, nan] }),
  rsqrt: floatsFrom({ low: 0.3, high: 5, edges: [0, 1, 1e-20, 1e20, -1, inf, nan] }),
  sin: floatsFrom({ low: -4, high: 4, edges: angles, floor: 0.01 }),
  cos: floatsFrom({ low: -4, high: 4, edges: angles, floor: 0.01 }),
  tan: floatsFrom({ low: -1.2, high: 1.2, edges: [0, 1, -1, 1e-20, Math.PI, -100, inf, nan], floor: 0.01 }),
  tanh: floatsFrom({
    low: -2,
    high: 2,
    edges: [0, 1e-6, 1e-20, 0.5, 9, -9, 30, 1e20, inf, -inf, nan],
    floor: 0.05,
  }),
  logistic: floatsFrom({ low: -4, high: 4, edges: [0, 20, -20, 80, -80, 1e20, -1e20, inf, -inf, nan] }),
  erf: floatsFrom({
    low: -2,
    high: 2,
    edges: [0, 1e-6, -0.5, 1, 3, -3.9, 10, 1e20, inf, -inf, nan],
    floor: 0.1,
  }),
  abs: together(at(awayFromZero), ofTypes("i32")),
  sign: together(at(awayFromZero), ofTypes("i32")),
  floor: at(betweenWholes),
  ceil: at(betweenWholes),
  round: at(betweenWholes),
  isFinite: at(awayFromZero),
  not: ofTypes("i32", "u32", "u8", "bool"),
  popcount: ofTypes("i32", "u32", "u8"),
  identity: together(floatsFrom({ low: -1, high: 1 }), ofTypes("i32", "bool")),
  shard: (random, float) => [
    { inputs: [random.numbers(float, [4, 3])], params: { axis: 0 } },
    { inputs: [random.numbers("i32", [3, 4])], params: { axis: 1 } },
  ],
  materialize: together(floatsFrom({ low: -1, high: 1 }), ofTypes("i32", "bool")),
  // Its derivative is no derivative of its values; it has cases of its own.
  stopGradient: (random, dtype) => [
    { inputs: [random.numbers(dtype, [3])], for: "batching" },
    ...ofTypes("i32", "bool")(random, dtype),
  ],
};

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

type SamplePlace = (random: Sampler) => readonly [x: number, y: number];

/** Floating-point samples: smooth at `place`, then all pairs of edges. */
function float(place: SamplePlace, edges?: readonly number[]): SampleMaker {
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

const anywhere: SamplePlace = (random) => [random.float(-2, 2), random.float(-2, 2)];
const divisible: SamplePlace = (random) => [random.float(-2, 2), random.pick([1, -1]) * random.float(0.6, 2)];
const apart: SamplePlace = (random) => {
  const x = random.float(-2, 2);
  return [x, x + random.pick([1, -1]) * random.float(0.3, 1)];
};
/** Between two multiples of the divisor. */
const withRest: SamplePlace = (random) => {
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

const threefry2x32: SampleMaker = (random) => {
  const words = (shape: readonly number[]) => random.numbers("u32", shape, 0, 4294967295);
  const sample = (...shapes: (readonly number[])[]): Sample => ({ inputs: shapes.map(words) });
  return [
    sample([], [], [3], [3]),
    sample([2, 2], [2, 2], [2, 2], []),
    { ...sample([], [], [], []), for: "values" },
    { ...sample([1], [1], [1], [1]), for: "values" },
    { ...sample([], [], [0], [0]), for: "values" },
    {
      inputs: [0, 0, 4294967295, 4294967295].map((word) => dense("u32", [1], [word])),
      for: "values",
    },
  ];
};

export const randomSamples: Readonly<Record<string, SampleMaker>> = { threefry2x32 };
