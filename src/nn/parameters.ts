import { createHash } from "node:crypto";
import { didYouMean, flatten, isPlainObject, leafPaths, shown } from "../core/index.ts";
import {
  hostRandom,
  put,
  type Shape,
  type Spec,
  type Specs,
  spec,
  type Tensor,
  type Value,
} from "../engine/index.ts";
import type { Initializer } from "./initializers.ts";
import { checkModel, isModel } from "./layer.ts";
import type { InitKey, InitOptions, Model, Params } from "./model.ts";
import { layerError, watchLayers } from "./path.ts";

const { hostFoldIn, hostKey } = hostRandom;

const keyOf = (key: InitKey): Uint32Array => (typeof key === "number" ? hostKey(key) : key);

/** The key of a part by its name: parts added later never change what others draw. */
export function childKey(key: InitKey, name: string): Uint32Array {
  if (typeof name !== "string")
    throw layerError(
      "childKey",
      "ARGUMENT_INVALID",
      `the name of the part is ${shown(name)}`,
      'give a text: childKey(key, "encoder")',
    );
  return hostFoldIn(keyOf(key), createHash("sha256").update(name).digest().readUInt32LE(0));
}

/** What a parameter is made from. */
export interface ParameterSpec {
  readonly shape: Shape;
  readonly init: Initializer;
}

/** Whether parameters are only described, not drawn. */
let describing = false;

/**
 * Draws a layer's own parameters and puts them on the device. For layers of your own.
 *
 * @example
 * ```ts
 * const init = (key, input, options) => drawParameters(key, { scale: { shape: [4], init: ones } }, options);
 * ```
 */
export function drawParameters(
  key: InitKey,
  specs: Readonly<Record<string, ParameterSpec>>,
  options: InitOptions = {},
): Readonly<Record<string, Tensor>> {
  if (!isPlainObject(specs)) throw notSpecs(`the parameters are ${shown(specs)}`);
  const made = Object.entries(specs).map(([name, own]) => {
    if (!Array.isArray(own?.shape)) throw notSpecs(`"${name}" is ${shown(own)}`);
    const { shape, init } = own;
    // Only shapes are asked of a described parameter, and those a spec has.
    if (describing) return [name, spec(shape) as unknown as Tensor] as const;
    return [name, put(drawnFrom(name, init, childKey(key, name), shape), { ...options, shape })] as const;
  });
  return Object.fromEntries(made);
}

const notSpecs = (what: string) =>
  layerError(
    "drawParameters",
    "ARGUMENT_INVALID",
    what,
    "give the shape and the initializer of each parameter: { w: { shape: [4, 2], init: kaimingNormal() } }",
  );

function drawnFrom(name: string, init: Initializer, key: Uint32Array, shape: Shape): Float32Array {
  const numbers: unknown = typeof init === "function" ? init(key, shape) : undefined;
  if (numbers instanceof Float32Array && numbers.length === shape.reduce((a, b) => a * b, 1)) return numbers;
  throw layerError(
    "init",
    "INITIALIZER_INVALID",
    `the initializer of "${name}" did not give the numbers of [${shape.join(", ")}]`,
    "an initializer takes (key, shape) and gives a Float32Array; call those that are factories: kaimingNormal()",
  );
}

/**
 * What a model's parameters are for such inputs, without drawing them.
 *
 * @example
 * ```ts
 * parameterSpecs(dense(2), spec([32, 4])); // { w: f32[4,2], b: f32[2] }
 * ```
 */
export function parameterSpecs<X, Y>(model: Model<X, Y>, input: Specs<X>): Params<Spec> {
  checkModel("parameterSpecs", model);
  const outer = describing;
  describing = true;
  try {
    const quiet = { enter: () => undefined, leave: () => undefined };
    return watchLayers(quiet, () => model.init(0, input)) as unknown as Params<Spec>;
  } finally {
    describing = outer;
  }
}

/** What stands for the parameters of a layer that a tree has none of, with the names it has beside them. */
const absent = new WeakMap<Params, { readonly name: string; readonly besides: readonly string[] }>();

/** Refuses what is no tree of parameters. */
function checkParams(kind: string, params: unknown): void {
  if (isPlainObject(params) && !isModel(params)) return;
  throw layerError(
    kind,
    "PARAMETER_INVALID",
    `the parameters are ${isModel(params) ? `a model (${params.kind})` : shown(params)}`,
    "pass what init gave: model.init(0, spec([32, 4]))",
  );
}

/** The parameters of a part. Parts without parameters need none; others say what is missing once they look. */
export function childParams(params: Params, name: string): Params {
  checkParams("params", params);
  const found = params[name];
  if (isPlainObject(found)) return found as Params;
  if (found !== undefined)
    throw layerError("params", "PARAMETER_INVALID", `"${name}" is one value`, "give the layer's parameters");
  const none: Params = {};
  absent.set(none, absent.get(params) ?? { name, besides: Object.keys(params) });
  return none;
}

/** A layer's own parameter; an error naming the layer's path where it is missing. */
export function parameter(kind: string, params: Params, name: string): Value {
  const found = isPlainObject(params) ? params[name] : undefined;
  if (found !== undefined && !isPlainObject(found)) return found as Value;
  const gap = isPlainObject(params) ? absent.get(params) : undefined;
  const what = gap
    ? `the parameters have no "${gap.name}"${didYouMean(gap.name, gap.besides)}`
    : `there is no parameter "${name}"${didYouMean(name, Object.keys(params ?? {}))}`;
  const [has, given] = gap ? [gap.besides, "the tree has"] : [Object.keys(params ?? {}), "there are"];
  throw layerError(
    kind,
    "PARAMETER_MISSING",
    what,
    `pass what init gave; ${given} ${has.length === 0 ? "none" : has.join(", ")}`,
  );
}

/** How many numbers a tree of parameters holds. */
export function countParameters(params: Params<Tensor | Value | Spec>): number {
  checkParams("countParameters", params);
  const leaves: unknown[] = [];
  const tree = flatten(params, leaves);
  return leaves.reduce<number>((sum, leaf, i) => {
    const shape = (leaf as Partial<Tensor>).shape;
    if (Array.isArray(shape)) return sum + shape.reduce((a, b) => a * b, 1);
    throw layerError(
      "countParameters",
      "PARAMETER_INVALID",
      `"${leafPaths(tree)[i]}" is ${shown(leaf)}, which has no shape`,
      "pass what init gave: tensors by name",
    );
  }, 0);
}
