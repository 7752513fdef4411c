import { didYouMean, EspalierError, isPlainObject, shown } from "../core/index.ts";
import { nn as functions } from "../engine/index.ts";
import { feedForward } from "./attention/block.ts";
import { transformerEncoder } from "./attention/encoder.ts";
import { multiHeadAttention } from "./attention/multi-head.ts";
import { learnedPositions } from "./attention/positions.ts";
import { transformer } from "./attention/transformer.ts";
import { cnn } from "./cnn.ts";
import { parallel, residual, sequential } from "./combine.ts";
import { conv1d, conv2d } from "./conv.ts";
import { dense, mlp } from "./dense.ts";
import { dropout } from "./dropout.ts";
import { embedding } from "./embedding.ts";
import * as initializers from "./initializers.ts";
import { isModel, type Layers } from "./layer.ts";
import type { Layer, Model } from "./model.ts";
import { batchNorm, groupNorm, layerNorm, rmsNorm } from "./norm.ts";
import { avgPool1d, avgPool2d, flatten, globalAvgPool, maxPool1d, maxPool2d } from "./pool.ts";
import type { Recipe } from "./recipe.ts";
import { gru, lstm } from "./recurrent/index.ts";

type Given = Readonly<Record<string, unknown>>;

/** A maker whose options are checked by the layer itself, as when a program calls it. */
const made =
  <O>(make: (options: O) => unknown) =>
  (options: Given): unknown =>
    make(options as O);

/** A maker with a first argument before its options, which recipes have under a name. */
const sized =
  <A extends string, O>(name: A, make: (first: number, options: O) => unknown) =>
  ({ [name]: first, ...options }: Given): unknown =>
    make(first as number, options as O);

/** The kinds of recipes, and what makes each. */
const makers: Readonly<Record<string, (options: Given) => unknown>> = {
  function: ({ name }) => named("function", functions, name),
  initializer: ({ name, ...options }) => initializerNamed(name, options),
  sequential: ({ layers }) => sequential(layers as Layers),
  parallel: ({ layers, ...options }) => parallel(layers as Readonly<Record<string, Layer>>, options),
  residual: ({ layer }) => residual(layer as Layer),
  dense: sized("units", dense),
  mlp: made(mlp),
  cnn: made(cnn),
  conv1d: ({ filters, window, ...options }) => conv1d(filters as number, window as number, options),
  conv2d: ({ filters, window, ...options }) => conv2d(filters as number, window as number, options),
  embedding: ({ count, width, ...options }) => embedding(count as number, width as number, options),
  batchNorm: made(batchNorm),
  layerNorm: made(layerNorm),
  rmsNorm: made(rmsNorm),
  groupNorm: sized("groups", groupNorm),
  dropout: ({ rate }) => dropout(rate as number),
  maxPool1d: sized("window", maxPool1d),
  maxPool2d: sized("window", maxPool2d),
  avgPool1d: sized("window", avgPool1d),
  avgPool2d: sized("window", avgPool2d),
  globalAvgPool,
  flatten,
  gru: sized("width", gru),
  lstm: sized("width", lstm),
  learnedPositions: sized("context", learnedPositions),
  multiHeadAttention: made(multiHeadAttention),
  feedForward: made(feedForward),
  transformer: made(transformer),
  transformerEncoder: made(transformerEncoder),
};

/**
 * Builds a model from its recipe: the same layers under the same names, so that the parameters of the one are those of
 * the other.
 *
 * @example
 * ```ts
 * const model = nn.mlp({ hidden: [64], out: 3, activation: nn.tanh });
 * const again = nn.fromRecipe(JSON.parse(JSON.stringify(model.recipe)));
 * ```
 */
export function fromRecipe(recipe: Recipe): Model {
  const model = revived(recipe);
  if (isModel(model)) return model;
  throw invalid(`${shown(recipe)} is no recipe of a model`, "give what a model has as its `recipe`");
}

/** The value that a part of a recipe stands for. */
function revived(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revived);
  if (!isPlainObject(value)) return value;
  const { kind, ...rest } = value;
  const options = Object.fromEntries(Object.entries(rest).map(([name, part]) => [name, revived(part)]));
  if (kind === undefined) return options;
  return named("kind", makers, kind)(options);
}

function named<T>(what: string, known: Readonly<Record<string, T>>, name: unknown): T {
  if (typeof name === "string" && Object.hasOwn(known, name)) return known[name] as T;
  const names = Object.keys(known);
  throw invalid(
    `there is no ${what} ${shown(name)}${typeof name === "string" ? didYouMean(name, names) : ""}`,
    `the recipe may be of a newer espalier; this one knows ${names.join(", ")}`,
  );
}

function initializerNamed(name: unknown, options: Given): unknown {
  const { zeros, ones, constant, fansOf: _, ...factories } = initializers;
  if (name === "zeros" || name === "ones") return name === "zeros" ? zeros : ones;
  if (name === "constant") return constant(options.value as number);
  return named("initializer", factories, name)(options);
}

const invalid = (what: string, fix: string): EspalierError =>
  new EspalierError("RECIPE_INVALID", `fromRecipe: ${what}`, { fix });
