import { nn as functions } from "../engine/index.ts";
import { type DenseOptions, dense } from "./dense.ts";
import type { Initializer } from "./initializers.ts";
import type { Layer, Model } from "./model.ts";
import { badOption, checkOptions, checkSize } from "./options.ts";
import { sequential } from "./sequential.ts";

/** Options of {@link mlp}. */
export interface MlpOptions {
  /** The widths of the hidden layers. */
  readonly hidden: readonly number[];
  /** The width of the last layer; without it the last hidden layer is the last. */
  readonly out?: number;
  /** What comes behind each hidden layer; relu unless told. */
  readonly activation?: Layer;
  /** What comes behind the last layer; nothing unless told. */
  readonly outActivation?: Layer;
  /** Weights of all layers; {@link dense}'s unless told. */
  readonly init?: Initializer;
  /** Weights of the last layer; `init` unless told. */
  readonly outInit?: Initializer;
  /** Biases of all layers; {@link dense}'s unless told. */
  readonly biasInit?: Initializer;
}

const names = ["hidden", "out", "activation", "outActivation", "init", "outInit", "biasInit"];

/**
 * Dense layers with an activation between them. Parameters: `hidden0`, `hidden1`, ... and `out`.
 *
 * @example
 * ```ts
 * const policy = nn.mlp({ hidden: [64, 64], out: 4, activation: nn.tanh, init: nn.initializers.orthogonal() });
 * ```
 */
export function mlp(options: MlpOptions): Model {
  checkOptions("mlp", options, names);
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
  return { ...sequential(layers), kind: "mlp" };
}

const initsOf = (init: Initializer | undefined, biasInit: Initializer | undefined): DenseOptions => ({
  ...(init ? { init } : {}),
  ...(biasInit ? { biasInit } : {}),
});
