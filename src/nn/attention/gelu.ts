import { customGradient, nn, np, type Value } from "../../engine/index.ts";

const linear = 2 * Math.sqrt(2 / Math.PI);
const cubic = 0.044715 * linear;

/** (1 + tanh(u)) / 2 of GELU's formula, as sigmoid(2u). */
const gate = (x: Value): Value =>
  nn.sigmoid(np.multiply(x, np.add(np.multiply(np.square(x), cubic), linear)));

/**
 * GELU by the tanh formula, like `nn.gelu(x)`, for the wide layer of a transformer: a sigmoid in place of the
 * tanh, and a derivative that keeps nothing but x.
 */
export const quickGelu = customGradient(
  (x: Value): Value => np.multiply(x, gate(x)),
  ([x], _result, cotangent) => {
    const g = gate(x);
    const slope = np.add(np.multiply(np.square(x), 3 * cubic), linear);
    const rise = np.multiply(np.multiply(np.multiply(x, g), np.subtract(1, g)), slope);
    return [np.multiply(cotangent, np.add(g, rise))];
  },
);
