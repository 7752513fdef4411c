import { badOption, checkOptions, isPlainObject, type Options, option, required } from "../../core/index.ts";
import { nn, type Value } from "../../engine/index.ts";

/** Activations by name, with their default options, so that a policy can be described in plain data. */
export const activations = {
  relu: (x: Value) => nn.relu(x),
  tanh: (x: Value) => nn.tanh(x),
  gelu: (x: Value) => nn.gelu(x),
  silu: (x: Value) => nn.silu(x),
  elu: (x: Value) => nn.elu(x),
  sigmoid: (x: Value) => nn.sigmoid(x),
};

const size = option.integer({ min: 1 });
const sizes = option.made<readonly number[]>(
  "a list of whole numbers from 1 on, such as [64, 64]",
  (value) => Array.isArray(value) && value.every(size.accepts),
  {},
);
const divisor = option.number({ above: 0 });

const mlpRows = {
  /** Default: [64, 64]; after convolutions [512]. */
  hidden: sizes,
  /** Default: tanh; with convolutions relu. */
  activation: option.oneOf(Object.keys(activations) as (keyof typeof activations)[], {}),
};

/** Dense layers. Weights are orthogonal with gain sqrt 2, biases 0. */
export interface MlpSpec extends Options<typeof mlpRows> {
  readonly kind: "mlp";
}

const cnnRows = {
  ...mlpRows,
  /** Output channels of each convolution. */
  channels: required(
    option.made<readonly number[]>(
      "a list of at least one whole number from 1 on, such as [32, 64, 64]",
      (value) => sizes.accepts(value) && (value as readonly number[]).length > 0,
      {},
    ),
  ),
  /** Kernel size: one for all convolutions, or one for each. Default: 3. */
  kernel: option.either(size, sizes, {}),
  /** Default: 1. */
  strides: option.either(size, sizes, {}),
  /**
   * Images are divided by this number; in a dict, one for all or one for each by name. Default: the greatest magnitude
   * that the bounds allow where it lies between 1 and 65,535, so 255 for bytes; else 1. Where observations are
   * normalized the default is 1.
   */
  scale: option.either(
    divisor,
    option.made<Readonly<Record<string, number>>>(
      "such numbers by the names of images",
      (value) => isPlainObject(value) && Object.values(value).every(divisor.accepts),
      {},
    ),
    {},
  ),
};

/**
 * Convolutions over images, boxes [height, width, channels], then dense layers. In a dict of observations every image
 * has its own convolutions, and everything else joins their outputs before the dense layers. Weights and biases as in
 * {@link MlpSpec}.
 */
export interface CnnSpec extends Options<typeof cnnRows> {
  readonly kind: "cnn";
}

const given = { required: true } as const;
const kindRow = option.oneOf(["mlp", "cnn"], given);

const table = {
  /** Default: { kind: "mlp" }. */
  encoder: option.object<MlpSpec | CnnSpec>('an encoder such as { kind: "mlp" }', [], {}),
  /** A recurrent layer after the encoder of each tower. Default: none. */
  memory: option.group<{ readonly kind: "gru" | "lstm"; readonly width: number }>(
    { kind: option.oneOf(["gru", "lstm"], given), width: option.integer({ min: 1, required: true }) },
    {},
  ),
  /** Policy and value have separate towers, or share one up to their heads. Default: separate. */
  towers: option.oneOf(["separate", "shared"], {}),
  /**
   * For boxes: `independent` has one deviation parameter for each action, `dependent` computes it from the
   * observation, from exp(-20) to exp(2). Default: independent.
   */
  deviation: option.oneOf(["independent", "dependent"], {}),
  /** For boxes: the initial logarithm of the deviation. Default: 0. */
  logDeviation: option.number({}),
  /** For boxes with finite bounds: actions are squashed into them by tanh instead of clipped. Default: false. */
  squash: option.flag({}),
  /** A custom policy, for `loadPolicy`: the file that exports `(spaces) => Policy`, and the name of the export. */
  module: option.group<{ readonly url: string; readonly name: string }>(
    { url: option.text(given), name: option.text(given) },
    {},
  ),
};

/**
 * A policy in plain data. The defaults are those of CleanRL's PPO.
 *
 * @example
 * ```ts
 * const spec: PolicySpec = { encoder: { kind: "mlp", hidden: [128] }, memory: { kind: "gru", width: 64 } };
 * ```
 */
export interface PolicySpec extends Options<typeof table> {}

/** Refuses a spec that describes no policy, naming what is wrong in it. */
export function checkSpec(spec: PolicySpec): void {
  checkOptions("policy", spec, table);
  const kind = "policy.encoder";
  const { encoder } = spec;
  if (encoder)
    checkOptions(kind, encoder, { kind: kindRow, ...(encoder.kind === "cnn" ? cnnRows : mlpRows) });
  if (encoder?.kind !== "cnn") return;
  for (const name of ["kernel", "strides"] as const) {
    const { [name]: given, channels } = encoder;
    if (typeof given === "object" && given.length !== channels.length)
      throw badOption(
        kind,
        `${name} has ${given.length} numbers for ${channels.length} convolutions`,
        "give one for all, or one for each",
      );
  }
}
