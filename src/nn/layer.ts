import {
  didYouMean,
  EspalierError,
  flatten,
  isPlainObject,
  leafPaths,
  leavesByPath,
  nameWords,
  shown,
} from "../core/index.ts";
import {
  evalShape,
  hostRandom,
  put,
  random,
  type Shape,
  type Spec,
  type Specs,
  spec,
  type Tensor,
  Value,
} from "../engine/index.ts";
import type { Initializer } from "./initializers.ts";
import type { ApplyOptions, InitKey, InitOptions, Layer, Model, Params } from "./model.ts";
import { functionRecipe } from "./recipe.ts";

/** Layers by name, or in order: those are named by their kind and a count, `dense0`, `relu0`, `dense1`. */
export type Layers = readonly Layer[] | Readonly<Record<string, Layer>>;

/** True for a model: it has `init` and `apply`. */
export const isModel = (layer: unknown): layer is Model =>
  typeof layer === "object" &&
  layer !== null &&
  typeof (layer as Partial<Model>).init === "function" &&
  typeof (layer as Partial<Model>).apply === "function";

/** Refuses what is no model. */
export function checkModel(fn: string, model: unknown): void {
  if (isModel(model)) return;
  throw layerError(
    fn,
    "ARGUMENT_INVALID",
    `the model is ${shown(model)}`,
    typeof model === "function" && model.name !== ""
      ? `call what makes it, such as ${model.name}(...)`
      : "give a model such as dense(64), with init and apply",
  );
}

/** A layer as a model: a function becomes one without parameters. */
function asModel(container: string, name: string, layer: Layer): Model {
  if (isModel(layer)) return layer;
  if (typeof layer !== "function")
    throw new EspalierError("LAYER_INVALID", `${container}: "${name}" is no layer but ${describe(layer)}`, {
      fix: "give models such as dense(64) and functions such as nn.relu",
    });
  const recipe = functionRecipe(layer);
  return {
    kind: layer.name || "function",
    ...(recipe && { recipe }),
    init: () => ({}),
    apply: (_params, x) => {
      const y: unknown = layer(x);
      if (y instanceof Value) return y;
      const fix = isModel(y) ? `call it: ${layer.name}()` : "return a traced value";
      throw layerError(layer.name || "function", "LAYER_INVALID", `it gave ${describe(y)} and no value`, fix);
    },
  };
}

const describe = (x: unknown): string =>
  isModel(x) ? `a model (${x.kind})` : typeof x === "object" && x !== null ? "an object" : String(x);

const kindOf = (layer: unknown): string => {
  if (typeof layer === "function") return layer.name || "function";
  return isModel(layer) ? layer.kind : "layer";
};

/** The layers inside a container, by the names their parameters have. */
export function namedLayers(container: string, layers: Layers): Readonly<Record<string, Model>> {
  if ((!Array.isArray(layers) && !isPlainObject(layers)) || isModel(layers))
    throw new EspalierError(
      "LAYER_INVALID",
      `${container}: its layers are ${isModel(layers) ? describe(layers) : shown(layers)}`,
      { fix: "give a list of layers, [dense(64), nn.relu], or an object of them by name" },
    );
  const counts = new Map<string, number>();
  const entries = Array.isArray(layers)
    ? (layers as readonly Layer[]).map((layer): readonly [string, Layer] => {
        const kind = kindOf(layer);
        const index = counts.get(kind) ?? 0;
        counts.set(kind, index + 1);
        return [`${kind}${index}`, layer];
      })
    : Object.entries(layers as Readonly<Record<string, Layer>>);
  return Object.fromEntries(
    entries.map(([name, layer]) => [checkName(container, name), asModel(container, name, layer)]),
  );
}

/** JavaScript moves names that are whole numbers to the front, and dots make paths. */
function checkName(container: string, name: string): string {
  if (name !== "" && !name.includes(".") && !/^\d+$/.test(name)) return name;
  throw new EspalierError("LAYER_INVALID", `${container}: "${name}" cannot be a layer's name`, {
    fix: "give names without dots that are not whole numbers",
  });
}

/** Options of the layer at `index`: with a random key of its own if there is one. */
export function childOptions(options: ApplyOptions, index: number): ApplyOptions {
  return options.key === undefined ? options : { ...options, key: random.foldIn(options.key, index) };
}

/** Output specs of a layer for such parameters and inputs. */
export const outputSpec = (layer: Model, params: Params<unknown>, input: Spec): Spec =>
  evalShape((p: Params, x: Value) => layer.apply(p, x), params, input);

/** The shape of a described input; an error where nothing, or something else, was given. */
export function shapeOf(kind: string, input: Spec): Shape {
  const shape: unknown = (input as Partial<Spec> | undefined)?.shape;
  if (Array.isArray(shape)) return shape as Shape;
  throw layerError(
    kind,
    "INPUT_INVALID",
    "init was not told the input's shape",
    "pass spec([batch, features])",
  );
}

export const shapeText = (shape: Shape): string => `[${shape.join(", ")}]`;

/** The layers under way, outermost first. Tracing is synchronous, so one stack serves all. */
const under: string[] = [];

/** Observer of layers' outputs, for summaries. */
export interface LayerWatcher {
  enter(path: string): void;
  leave(path: string, result: unknown): void;
}
let watcher: LayerWatcher | undefined;

/** Errors that say already where in the model they happened. */
const located = new WeakSet<EspalierError>();

/**
 * Runs part of a model under its name, so that errors can say where they happened. For models made of others.
 *
 * @example
 * ```ts
 * const h = inLayer("encoder", () => encoder.apply(childParams(params, "encoder"), x, options));
 * ```
 */
export function inLayer<T>(name: string, run: () => T): T {
  if (typeof name !== "string" || typeof run !== "function")
    throw layerError(
      "inLayer",
      "ARGUMENT_INVALID",
      `it was given ${shown(name)} and ${shown(run)}`,
      'give the name of the part and a function: inLayer("encoder", () => ...)',
    );
  under.push(name);
  const path = layerPath();
  try {
    watcher?.enter(path);
    const result = run();
    watcher?.leave(path, result);
    return result;
  } catch (error) {
    throw error instanceof EspalierError && !located.has(error) ? locate(error, path) : error;
  } finally {
    under.pop();
  }
}

/** An error of the engine, which knows nothing of layers, with the layer's path in front. */
function locate(error: EspalierError, path: string): EspalierError {
  const [message = ""] = error.message.split(` [${error.code}]`);
  const { fix, at } = error;
  const details = {
    cause: error,
    ...(fix === undefined ? {} : { fix }),
    ...(at === undefined ? {} : { at }),
  };
  const found = new EspalierError(error.code, `at "${path}": ${message}`, details);
  located.add(found);
  return found;
}

/** Path of the layer under way, e.g. `hidden.dense0`. */
export const layerPath = (): string => under.join(".");

/** An error about a layer, naming its path. */
export function layerError(kind: string, code: string, message: string, fix: string): EspalierError {
  const path = layerPath();
  const error = new EspalierError(
    code,
    path === "" ? `${kind}: ${message}` : `${kind} at "${path}": ${message}`,
    {
      fix,
    },
  );
  located.add(error);
  return error;
}

/** Runs something and tells `by` of every layer in it. The layers around it do not count. */
export function watchLayers<T>(by: LayerWatcher, run: () => T): T {
  const [outer, around] = [watcher, under.splice(0)];
  watcher = by;
  try {
    return run();
  } finally {
    watcher = outer;
    under.splice(0, under.length, ...around);
  }
}

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
  return hostFoldIn(keyOf(key), nameWords(name)[0]);
}

/** Shape and initializer of a parameter. */
export interface ParameterSpec {
  readonly shape: Shape;
  readonly init: Initializer;
}

/** True if parameters are only described, not drawn. */
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
 * Describes a model's parameters for such inputs, without drawing them.
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

/**
 * The first parameter by name that is not what a model has for such inputs: its type, and the model's. Undefined where
 * all fit.
 *
 * @example
 * ```ts
 * parameterMismatch(dense(2), spec([32, 4]), dense(3).init(0, spec([32, 4]))); // { name: "b", found: "f32[3]", ... }
 * ```
 */
export function parameterMismatch<X>(
  model: Model<X, unknown>,
  input: Specs<X>,
  params: Params<Tensor>,
): { readonly name: string; readonly found: string; readonly wanted: string } | undefined {
  const wanted = leavesByPath<Spec>(parameterSpecs(model, input));
  const there = leavesByPath<Tensor>(params);
  const textOf = (one: Spec | Tensor | undefined) => (one ? `${one.dtype}[${one.shape}]` : "not there");
  return [...new Set([...wanted.keys(), ...there.keys()])]
    .sort()
    .map((name) => ({ name, found: textOf(there.get(name)), wanted: textOf(wanted.get(name)) }))
    .find((one) => one.found !== one.wanted);
}

/** Stands in for missing parameters of a layer, with the names that are there. */
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

/** Number of elements in a tree of parameters. */
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
