import type { Spec, Tensor } from "../engine/index.ts";
import { childOptions, type Layers, namedLayers, outputSpec } from "./layer.ts";
import type { Model, Params } from "./model.ts";
import { childKey, childParams } from "./parameters.ts";
import { inLayer } from "./path.ts";

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
