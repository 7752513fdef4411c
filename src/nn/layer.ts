import { EspalierError, isPlainObject, shown } from "../core/index.ts";
import { evalShape, random, type Shape, type Spec, Value } from "../engine/index.ts";
import type { ApplyOptions, Layer, Model, Params } from "./model.ts";
import { layerError } from "./path.ts";

/** Layers by name, or in order: those are named by their kind and a count, `dense0`, `relu0`, `dense1`. */
export type Layers = readonly Layer[] | Readonly<Record<string, Layer>>;

/** Whether something has what makes a model: `init` and `apply`. */
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
  return {
    kind: layer.name || "function",
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

/** What the layer at `index` is told: a random key of its own where there is one. */
export function childOptions(options: ApplyOptions, index: number): ApplyOptions {
  return options.key === undefined ? options : { ...options, key: random.foldIn(options.key, index) };
}

/** What a layer gives for such parameters and inputs. */
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
