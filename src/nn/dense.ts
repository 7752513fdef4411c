import { nn as functions, np } from "../engine/index.ts";
import { sequential } from "./combine.ts";
import { type Initializer, kaimingUniform, uniform } from "./initializers.ts";
import { drawParameters, layerError, parameter, shapeOf, shapeText } from "./layer.ts";
import type { Layer, Model } from "./model.ts";
import { badOption, checkOptions, checkSize, row } from "./options.ts";
import { recipeOf } from "./recipe.ts";

/** Options of {@link dense}. */
export interface DenseOptions {
  /** Adds a bias. Default: true. */
  readonly bias?: boolean;
  /** Default: PyTorch's, uniform between -1 and 1 divided by the root of the number of inputs. */
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
  checkOptions("dense", options, { bias: row.flag, init: row.initializer, biasInit: row.initializer });
  const { bias = true, init = defaultInit, biasInit } = options;
  return {
    kind: "dense",
    ...recipeOf("dense", { units, ...options }),
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

/** Options of {@link mlp}. */
export interface MlpOptions {
  /** The widths of the hidden layers. */
  readonly hidden: readonly number[];
  /** The width of the last layer; without it the last hidden layer is the last. */
  readonly out?: number;
  /** Activation after each hidden layer. Default: relu. */
  readonly activation?: Layer;
  /** Activation after the last layer. Default: nothing. */
  readonly outActivation?: Layer;
  /** Weights of all layers. Default: {@link dense}'s. */
  readonly init?: Initializer;
  /** Weights of the last layer. Default: `init`. */
  readonly outInit?: Initializer;
  /** Biases of all layers. Default: {@link dense}'s. */
  readonly biasInit?: Initializer;
}

const mlpOptions = {
  hidden: row.list,
  out: row.size,
  activation: row.layer,
  outActivation: row.layer,
  init: row.initializer,
  outInit: row.initializer,
  biasInit: row.initializer,
};

/**
 * Dense layers with an activation between them. Parameters: `hidden0`, `hidden1`, ... and `out`.
 *
 * @example
 * ```ts
 * const policy = nn.mlp({ hidden: [64, 64], out: 4, activation: nn.tanh, init: nn.initializers.orthogonal() });
 * ```
 */
export function mlp(options: MlpOptions): Model {
  checkOptions("mlp", options, mlpOptions);
  const { hidden, out, activation = functions.relu, outActivation, init, outInit = init, biasInit } = options;
  if (!Array.isArray(hidden))
    throw badOption("mlp", "hidden is no list", "give widths: { hidden: [64, 64] }");
  if (hidden.length === 0 && out === undefined)
    throw badOption("mlp", "there are no layers", "give widths: { hidden: [64], out: 2 }");
  if (out === undefined && (outActivation !== undefined || options.outInit !== undefined))
    throw badOption(
      "mlp",
      "there is no last layer to apply outActivation or outInit to",
      "give its width: out",
    );
  const layers: Record<string, Layer> = {};
  hidden.forEach((width, i) => {
    layers[`hidden${i}`] = dense(checkSize("mlp", `hidden[${i}]`, width), initsOf(init, biasInit));
    layers[`activation${i}`] = activation;
  });
  if (out !== undefined) layers.out = dense(checkSize("mlp", "out", out), initsOf(outInit, biasInit));
  if (outActivation !== undefined) layers.outActivation = outActivation;
  return { ...sequential(layers), kind: "mlp", ...recipeOf("mlp", options) };
}

const initsOf = (init: Initializer | undefined, biasInit: Initializer | undefined): DenseOptions => ({
  ...(init ? { init } : {}),
  ...(biasInit ? { biasInit } : {}),
});
