import { np } from "../engine/index.ts";
import { type Initializer, kaimingUniform, uniform } from "./initializers.ts";
import { shapeOf, shapeText } from "./layer.ts";
import type { Model } from "./model.ts";
import { checkOptions, checkSize } from "./options.ts";
import { drawParameters, parameter } from "./parameters.ts";
import { layerError } from "./path.ts";

/** Options of {@link dense}. */
export interface DenseOptions {
  /** Whether a bias is added; true unless told. */
  readonly bias?: boolean;
  /** PyTorch's unless told: uniform between -1 and 1 divided by the root of the number of inputs. */
  readonly init?: Initializer;
  /** The same, by the number of inputs. */
  readonly biasInit?: Initializer;
}

/** PyTorch's numbers for weights: variance 1 / (3 inputs). */
export const defaultInit: Initializer = kaimingUniform({ gain: Math.sqrt(1 / 3) });

/** PyTorch's numbers for the biases of outputs that see so many inputs. */
export function defaultBias(inputs: number): Initializer {
  const bound = 1 / Math.sqrt(Math.max(1, inputs));
  return uniform({ min: -bound, max: bound });
}

/**
 * A matrix product over the last axis, and a bias: `x @ w + b`. Parameters: `w` [in, units] and `b` [units].
 *
 * @example
 * ```ts
 * const layer = nn.dense(64);
 * const params = layer.init(0, spec([32, 4])); // w: [4, 64], b: [64]
 * ```
 */
export function dense(units: number, options: DenseOptions = {}): Model {
  checkSize("dense", "units", units);
  checkOptions("dense", options, ["bias", "init", "biasInit"]);
  const { bias = true, init = defaultInit, biasInit } = options;
  return {
    kind: "dense",
    init: (key, input, where) => {
      const features = shapeOf("dense", input).at(-1);
      if (features === undefined) throw noFeatures();
      const b = { shape: [units], init: biasInit ?? defaultBias(features) };
      return drawParameters(key, { w: { shape: [features, units], init }, ...(bias ? { b } : {}) }, where);
    },
    apply: (params, x) => {
      const w = parameter("dense", params, "w");
      const features = x.shape.at(-1);
      if (features === undefined) throw noFeatures();
      if (features !== w.shape[0])
        throw layerError(
          "dense",
          "SHAPE_MISMATCH",
          `the input ${shapeText(x.shape)} has ${features} features, but w is ${shapeText(w.shape)}`,
          `give inputs of ${w.shape[0]} features, or draw parameters for these: init(key, spec(${shapeText(x.shape)}))`,
        );
      const y = np.matmul(x, w);
      return bias ? np.add(y, parameter("dense", params, "b")) : y;
    },
  };
}

const noFeatures = () =>
  layerError(
    "dense",
    "SHAPE_MISMATCH",
    "the input is one number, of shape []",
    "give it an axis of features",
  );
