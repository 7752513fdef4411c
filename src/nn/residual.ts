import { np } from "../engine/index.ts";
import { namedLayers, shapeText } from "./layer.ts";
import type { Layer, Model } from "./model.ts";
import { layerError } from "./path.ts";

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
