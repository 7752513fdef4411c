import type { Shape } from "../engine/index.ts";
import { drawn, sizeOf } from "./draw.ts";
import type { Initializer } from "./initializers.ts";
import { normalProbability, normalQuantile } from "./normal-quantile.ts";
import { checkNumber, checkOptions, checkWord } from "./options.ts";
import { layerError } from "./path.ts";

/** How many inputs each output of a parameter sees, and how many outputs each input reaches. */
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
  /** What the numbers are multiplied by. */
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
    checkOptions(kind, options, ["gain"]);
    return scaled(kind, checkNumber(kind, "gain", options.gain ?? 1), both, draw);
  };

const kaiming =
  (kind: string, draw: Draw) =>
  (options: KaimingOptions = {}): Initializer => {
    checkOptions(kind, options, ["gain", "mode"]);
    const mode = checkWord(kind, "mode", options.mode ?? "fanIn", ["fanIn", "fanOut"]);
    const gain = checkNumber(kind, "gain", options.gain ?? Math.SQRT2);
    return scaled(kind, gain, mode === "fanIn" ? inputs : outputs, draw);
  };

const lecun =
  (kind: string, draw: Draw) =>
  (options: GainOptions = {}): Initializer => {
    checkOptions(kind, options, ["gain"]);
    return scaled(kind, checkNumber(kind, "gain", options.gain ?? 1), inputs, draw);
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
