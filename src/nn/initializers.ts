import { option } from "../core/index.ts";
import type { Shape } from "../engine/index.ts";
import { drawn, normalProbability, normalQuantile, normals, sizeOf } from "./draw.ts";
import { layerError } from "./layer.ts";
import { badOption, checkArgument, checkOptions, row } from "./options.ts";
import { type Recipe, recipeOf } from "./recipe.ts";

/** Draws the first numbers of a parameter, on the host. The last axis is the outputs, the one before it the inputs. */
export interface Initializer {
  (key: Uint32Array, shape: Shape): Float32Array;
  /** Its name and options, where it is one of `nn.initializers`. */
  readonly recipe?: Recipe;
}

/** An initializer with its name and options, as recipes of models have it. */
const named = (name: string, options: object, draw: Initializer): Initializer =>
  Object.assign(draw, recipeOf("initializer", { name, ...options }));

/** Zeros. */
export const zeros: Initializer = named("zeros", {}, (_key, shape) => new Float32Array(sizeOf(shape)));

/** Ones. */
export const ones: Initializer = named("ones", {}, (_key, shape) => new Float32Array(sizeOf(shape)).fill(1));

/** One number everywhere. */
export function constant(value: number): Initializer {
  checkArgument("constant", "the value", value, row.finite);
  return named("constant", { value }, (_key, shape) => new Float32Array(sizeOf(shape)).fill(value));
}

/** Options of {@link uniform}. */
export interface UniformOptions {
  readonly min?: number;
  readonly max?: number;
}

/** Numbers from `min` (0) to `max` (1), all equally likely. */
export function uniform(options: UniformOptions = {}): Initializer {
  checkOptions("uniform", options, { min: row.finite, max: row.finite });
  const min = options.min ?? 0;
  const max = options.max ?? 1;
  if (min > max) throw badOption("uniform", `min is ${min} and max is ${max}`, "make min the smaller one");
  return named("uniform", options, (key, shape) => drawn(key, shape, (u) => min + u * (max - min)));
}

/** Options of {@link normal}. */
export interface NormalOptions {
  readonly mean?: number;
  /** The standard deviation. Default: 1. */
  readonly std?: number;
}

/**
 * Normal numbers.
 *
 * @example
 * ```ts
 * const layer = nn.dense(64, { init: nn.initializers.normal({ std: 0.02 }) });
 * ```
 */
export function normal(options: NormalOptions = {}): Initializer {
  checkOptions("normal", options, { mean: row.finite, std: row.notNegative });
  const mean = options.mean ?? 0;
  const std = options.std ?? 1;
  return named("normal", options, (key, shape) => drawn(key, shape, (u) => mean + std * normalQuantile(u)));
}

/** Options of {@link truncatedNormal}. */
export interface TruncatedNormalOptions extends NormalOptions {
  /** Default: Where they are cut, in standard deviations from the mean: from -2 to 2. */
  readonly min?: number;
  readonly max?: number;
}

/** Normal numbers between two bounds. `std` is that of the numbers before they are cut. */
export function truncatedNormal(options: TruncatedNormalOptions = {}): Initializer {
  const kind = "truncatedNormal";
  checkOptions(kind, options, { mean: row.finite, std: row.notNegative, min: row.finite, max: row.finite });
  const mean = options.mean ?? 0;
  const std = options.std ?? 1;
  const min = options.min ?? -2;
  const max = options.max ?? 2;
  if (min >= max) throw badOption(kind, `min is ${min} and max is ${max}`, "make min the smaller one");
  // Above the mean probabilities crowd below 1, where doubles have no digits left: the lower tail is as good.
  const sign = min > 0 ? -1 : 1;
  const [low, high] = sign < 0 ? [-max, -min] : [min, max];
  const from = normalProbability(low);
  const width = normalProbability(high) - from;
  return named(kind, options, (key, shape) =>
    drawn(key, shape, (u) => {
      const x = Math.min(high, Math.max(low, normalQuantile(from + u * width)));
      return mean + std * sign * x;
    }),
  );
}

/** Number of inputs of each output of a parameter, and of outputs of each input. */
export function fansOf(kind: string, shape: Shape): { readonly fanIn: number; readonly fanOut: number } {
  // Before its axes are counted: sizeOf refuses what is no shape.
  sizeOf(shape);
  if (shape.length < 2)
    throw layerError(
      kind,
      "SHAPE_MISMATCH",
      `a parameter of shape [${shape.join(", ")}] has no inputs and outputs to count`,
      "use normal, uniform, zeros or constant for parameters of fewer than two axes",
    );
  const window = sizeOf(shape.slice(0, -2));
  return { fanIn: window * (shape.at(-2) as number), fanOut: window * (shape.at(-1) as number) };
}

/** Options of initializers that keep the size of signals. */
export interface GainOptions {
  /** Factor of the numbers. */
  readonly gain?: number;
}

/** Options of {@link kaimingUniform} and {@link kaimingNormal}. */
export interface KaimingOptions extends GainOptions {
  /** Keeps the size of activations (`"fanIn"`, the default) or of gradients (`"fanOut"`). */
  readonly mode?: "fanIn" | "fanOut";
}

type Count = (kind: string, shape: Shape) => number;
type Draw = (key: Uint32Array, shape: Shape, std: number) => Float32Array;

const spreadUniform: Draw = (key, shape, std) => drawn(key, shape, (u) => (2 * u - 1) * Math.sqrt(3) * std);
const spreadNormal: Draw = (key, shape, std) => drawn(key, shape, (u) => std * normalQuantile(u));

/** The standard deviation of a normal distribution cut at -2 and 2. */
const cutStd = 0.8796256610342398;
const beyond = normalProbability(-2);
const cutNormal: Draw = (key, shape, std) =>
  drawn(key, shape, (u) => (std / cutStd) * normalQuantile(beyond + u * (1 - 2 * beyond)));

/** Numbers whose variance is gain^2 / count. */
const scaled =
  (kind: string, gain: number, count: Count, draw: Draw): Initializer =>
  (key, shape) =>
    draw(key, shape, gain / Math.sqrt(Math.max(1, count(kind, shape))));

const both: Count = (kind, shape) => {
  const { fanIn, fanOut } = fansOf(kind, shape);
  return (fanIn + fanOut) / 2;
};
const inputs: Count = (kind, shape) => fansOf(kind, shape).fanIn;
const outputs: Count = (kind, shape) => fansOf(kind, shape).fanOut;

const xavier =
  (kind: string, draw: Draw) =>
  (options: GainOptions = {}): Initializer => {
    checkOptions(kind, options, { gain: row.finite });
    return named(kind, options, scaled(kind, options.gain ?? 1, both, draw));
  };

const kaiming =
  (kind: string, draw: Draw) =>
  (options: KaimingOptions = {}): Initializer => {
    checkOptions(kind, options, { gain: row.finite, mode: option.oneOf(["fanIn", "fanOut"], {}) });
    const mode = options.mode ?? "fanIn";
    const gain = options.gain ?? Math.SQRT2;
    return named(kind, options, scaled(kind, gain, mode === "fanIn" ? inputs : outputs, draw));
  };

const lecun =
  (kind: string, draw: Draw) =>
  (options: GainOptions = {}): Initializer => {
    checkOptions(kind, options, { gain: row.finite });
    return named(kind, options, scaled(kind, options.gain ?? 1, inputs, draw));
  };

/** Glorot's: variance gain^2 * 2 / (inputs + outputs), uniform; for tanh and sigmoid. */
export const xavierUniform = xavier("xavierUniform", spreadUniform);
/** The same, normal. */
export const xavierNormal = xavier("xavierNormal", spreadNormal);
/** He's: variance gain^2 / inputs with a gain of sqrt(2), uniform; for relu. */
export const kaimingUniform = kaiming("kaimingUniform", spreadUniform);
/** The same, normal. */
export const kaimingNormal = kaiming("kaimingNormal", spreadNormal);
/** Variance gain^2 / inputs, uniform; for selu. */
export const lecunUniform = lecun("lecunUniform", spreadUniform);
/** The same, normal and cut at two standard deviations, as in Flax and Keras. */
export const lecunNormal = lecun("lecunNormal", cutNormal);

/** Options of {@link orthogonal}. */
export interface OrthogonalOptions {
  /** Factor of the matrix. Default: 1. */
  readonly gain?: number;
}

/**
 * A random orthogonal matrix: columns (or rows, where there are fewer) of length `gain`, all at right angles, every
 * such matrix equally likely. Axes before the last count as one.
 *
 * @example
 * ```ts
 * const policy = nn.dense(4, { init: nn.initializers.orthogonal({ gain: 0.01 }) });
 * ```
 */
export function orthogonal(options: OrthogonalOptions = {}): Initializer {
  checkOptions("orthogonal", options, { gain: row.finite });
  const gain = options.gain ?? 1;
  return named("orthogonal", options, (key, shape) => {
    sizeOf(shape);
    if (shape.length < 2)
      throw layerError(
        "orthogonal",
        "SHAPE_MISMATCH",
        `a parameter of shape [${shape.join(", ")}] is no matrix`,
        "use it for parameters of two axes or more",
      );
    const rows = shape.slice(0, -1).reduce((a, b) => a * b, 1);
    const columns = shape.at(-1) as number;
    const [long, short] = rows < columns ? [columns, rows] : [rows, columns];
    // Columns of a tall matrix, rows of a wide one.
    const vectors = orthonormal(key, long, short);
    const numbers = new Float32Array(rows * columns);
    vectors.forEach((vector, k) => {
      for (let i = 0; i < long; i++)
        numbers[rows < columns ? k * columns + i : i * columns + k] = gain * (vector[i] as number);
    });
    return numbers;
  });
}

/** In four sums, as each addition would otherwise wait for the one before. */
function dot(x: Float64Array, y: Float64Array, from: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let i = from;
  for (; i + 3 < x.length; i += 4) {
    a += (x[i] as number) * (y[i] as number);
    b += (x[i + 1] as number) * (y[i + 1] as number);
    c += (x[i + 2] as number) * (y[i + 2] as number);
    d += (x[i + 3] as number) * (y[i + 3] as number);
  }
  for (; i < x.length; i++) a += (x[i] as number) * (y[i] as number);
  return a + b + (c + d);
}

/** Mirrors `y` in the plane at right angles to the unit vector `v`, which is 0 before `from`. */
function mirror(v: Float64Array, y: Float64Array, from: number): void {
  const twice = 2 * dot(v, y, from);
  for (let i = from; i < y.length; i++) y[i] = (y[i] as number) - twice * (v[i] as number);
}

/**
 * `count` vectors of length 1 and at right angles: the Q of a matrix of normal numbers, by Householder's mirrors, with
 * the signs that make R's diagonal positive, without which not every Q would be equally likely.
 */
function orthonormal(key: Uint32Array, length: number, count: number): Float64Array[] {
  const drawn = normals(key, length * count);
  const columns = Array.from({ length: count }, (_, j) => drawn.slice(j * length, (j + 1) * length));
  const signs = columns.map((column, k) => {
    const size = Math.sqrt(dot(column, column, k));
    const sign = (column[k] as number) < 0 ? 1 : -1;
    column.fill(0, 0, k);
    column[k] = (column[k] as number) - sign * size;
    const norm = Math.sqrt(dot(column, column, k));
    if (norm > 0) for (let i = k; i < length; i++) column[i] = (column[i] as number) / norm;
    for (let j = k + 1; j < count; j++) mirror(column, columns[j] as Float64Array, k);
    return sign;
  });
  const vectors = signs.map((sign, j) => {
    const vector = new Float64Array(length);
    vector[j] = sign;
    return vector;
  });
  for (let k = count - 1; k >= 0; k--)
    for (let j = k; j < count; j++) mirror(columns[k] as Float64Array, vectors[j] as Float64Array, k);
  return vectors;
}
