import { np, type Tensor, type Value } from "../engine/index.ts";
import { childOptions, namedLayers, shapeText } from "./layer.ts";
import type { Layer, Model, Params } from "./model.ts";
import { badOption, checkOptions, checkWord } from "./options.ts";
import { childKey, childParams } from "./parameters.ts";
import { inLayer, layerError } from "./path.ts";

/** Options of {@link parallel}. */
export interface ParallelOptions<C = "concat" | "add"> {
  /** How results become one: side by side along the last axis (the default), added, or by a function of all of them. */
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
  checkOptions("parallel", options, ["combine"]);
  const named = namedLayers("parallel", layers);
  const entries = Object.entries(named);
  if (entries.length === 0) throw badOption("parallel", "there are no layers", "give one layer or more");
  const combine = combiner(options.combine ?? "concat");
  return {
    kind: "parallel",
    layers: named,
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
