import type { Value } from "../../engine/index.ts";
import { dense, initializers, type Layer, type Model, sequential } from "../../nn/index.ts";

/** Weights and biases of everything but heads. */
export const hiddenInits = {
  init: initializers.orthogonal({ gain: Math.SQRT2 }),
  biasInit: initializers.zeros,
} as const;

/** Dense layers with an activation behind each: parameters `hidden0`, `hidden1`, ...; none where there are none. */
export function hiddenLayers(widths: readonly number[], activation: (x: Value) => Value): Model {
  const layers: Record<string, Layer> = {};
  widths.forEach((width, i) => {
    layers[`hidden${i}`] = dense(width, hiddenInits);
    layers[`activation${i}`] = activation;
  });
  return sequential(layers);
}
