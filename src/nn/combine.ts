import { option } from "../core/index.ts";
import { np, type Spec, type Tensor, type Value } from "../engine/index.ts";
import {
  childKey,
  childOptions,
  childParams,
  inLayer,
  type Layers,
  layerError,
  namedLayers,
  outputSpec,
  shapeText,
} from "./layer.ts";
import type { Layer, Model, Params } from "./model.ts";
import { badOption, checkOptions, checkWord } from "./options.ts";
import { recipeOf } from "./recipe.ts";

/**
 * Layers one after the other: a list, named by kind and count (`dense0`, `relu0`, `dense1`), or an object with names of
 * your own. Layers without parameters have no entry in them.
 *
 * @example
 * ```ts
 * const model = nn.sequential([nn.dense(64), nn.relu, nn.dense(2)]);
 * const params = model.init(0, spec([32, 4])); // { dense0: { w, b }, dense1: { w, b } }
 * ```
 */
export function sequential(layers: Layers): Model {
  const named = namedLayers("sequential", layers);
  const entries = Object.entries(named);
  return {
    kind: "sequential",
    layers: named,
    ...recipeOf("sequential", { layers: named }),
    init: (key, input, options) => {
      const params: Record<string, Params<Tensor>> = {};
      let spec: Spec = input;
      entries.forEach(([name, layer], i) =>
        inLayer(name, () => {
          const own = layer.init(childKey(key, name), spec, options);
          if (Object.keys(own).length > 0) params[name] = own;
          if (i < entries.length - 1) spec = outputSpec(layer, own, spec);
        }),
      );
      return params;
    },
    apply: (params, x, options = {}) =>
      entries.reduce(
        (y, [name, layer], i) =>
          inLayer(name, () => layer.apply(childParams(params, name), y, childOptions(options, i))),
        x,
      ),
  };
}

/** Options of {@link parallel}. */
export interface ParallelOptions<C = "concat" | "add"> {
  /** Combines the results: side by side along the last axis (the default), added, or by a function of all of them. */
  readonly combine?: C;
}

/** A function of the results of layers, by their names. */
export type Combine<L, Y> = (outputs: { readonly [K in keyof L]: Value }) => Y;

/**
 * Layers that all see the same input, and their results as one.
 *
 * @example
 * ```ts
 * const heads = nn.parallel(
 *   { policy: nn.dense(4), value: nn.dense(1) },
 *   { combine: (outputs) => outputs },          // { policy, value }
 * );
 * ```
 */
export function parallel(layers: Readonly<Record<string, Layer>>, options?: ParallelOptions): Model;
export function parallel<const L extends Readonly<Record<string, Layer>>, Y>(
  layers: L,
  options: Required<ParallelOptions<Combine<L, Y>>>,
): Model<Value, Y>;
export function parallel(
  layers: Readonly<Record<string, Layer>>,
  options: ParallelOptions<unknown> = {},
): Model<Value, unknown> {
  checkOptions("parallel", options, {
    combine: option.made<unknown>('"concat", "add" or a function', () => true, {}),
  });
  const named = namedLayers("parallel", layers);
  const entries = Object.entries(named);
  if (entries.length === 0) throw badOption("parallel", "there are no layers", "give one layer or more");
  const combine = combiner(options.combine ?? "concat");
  return {
    kind: "parallel",
    layers: named,
    ...recipeOf("parallel", { layers: named, ...options }),
    init: (key, input, where) => {
      const drawn = entries.map(([name, layer]): readonly [string, Params<Tensor>] => [
        name,
        inLayer(name, () => layer.init(childKey(key, name), input, where)),
      ]);
      return Object.fromEntries(drawn.filter(([, own]) => Object.keys(own).length > 0));
    },
    apply: (params, x, given = {}) => {
      const outputs = entries.map(([name, layer], i): readonly [string, Value] => [
        name,
        inLayer(name, () => layer.apply(childParams(params, name), x, childOptions(given, i))),
      ]);
      return combine(Object.fromEntries(outputs));
    },
  };
}

function combiner(combine: unknown): (outputs: Readonly<Record<string, Value>>) => unknown {
  if (typeof combine === "function") return combine as (outputs: Readonly<Record<string, Value>>) => unknown;
  const word = checkWord("parallel", "combine", combine, ["concat", "add"]);
  return (outputs) => {
    const values = Object.values(outputs);
    // Only the last axis may differ, and only where results stand side by side.
    const fixed = (value: Value) => shapeText(word === "add" ? value.shape : value.shape.slice(0, -1));
    if (values.some((value) => value.ndim === 0 || fixed(value) !== fixed(values[0] as Value)))
      throw layerError(
        "parallel",
        "SHAPE_MISMATCH",
        `its layers give ${Object.entries(outputs)
          .map(([name, value]) => `${name}: ${shapeText(value.shape)}`)
          .join(", ")}, which cannot be ${word === "add" ? "added" : "put side by side"}`,
        word === "add" ? "make all give the same shape" : "make all but the last axis equal",
      );
    return word === "add"
      ? values.reduce((sum, value) => np.add(sum, value))
      : np.concatenate(values, { axis: -1 });
  };
}

/**
 * The input plus what a layer makes of it. Its parameters are the layer's own.
 *
 * @example
 * ```ts
 * const block = nn.residual(nn.sequential([nn.layerNorm(), nn.dense(64), nn.gelu]));
 * ```
 */
export function residual(layer: Layer): Model {
  const { inner } = namedLayers("residual", { inner: layer }) as { readonly inner: Model };
  return {
    kind: "residual",
    ...recipeOf("residual", { layer: inner }),
    ...(inner.layers ? { layers: inner.layers } : {}),
    init: (key, input, options) => inner.init(key, input, options),
    apply: (params, x, options) => {
      const y = inner.apply(params, x, options);
      if (shapeText(y.shape) !== shapeText(x.shape))
        throw layerError(
          "residual",
          "SHAPE_MISMATCH",
          `the input is ${shapeText(x.shape)}, but ${inner.kind} gives ${shapeText(y.shape)}`,
          'make the layer keep the shape, or project the input: parallel({ main, shortcut }, { combine: "add" })',
        );
      return np.add(x, y);
    },
  };
}
