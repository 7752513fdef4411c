import { badOption, checkOptions, isPlainObject, type OptionTable, option } from "../../core/index.ts";
import { nn, type Value } from "../../engine/index.ts";

/** Activations by name, so that a policy can be described in plain data. */
export type ActivationName = "relu" | "tanh" | "gelu" | "silu" | "elu" | "sigmoid";

/** Dense layers. Weights are orthogonal with gain sqrt 2, biases 0. */
export interface MlpSpec {
  readonly kind: "mlp";
  /** Default: [64, 64]. */
  readonly hidden?: readonly number[];
  /** Default: tanh. */
  readonly activation?: ActivationName;
}

/**
 * Convolutions over images, boxes [height, width, channels], then dense layers. In a dict of observations every image
 * has its own convolutions, and everything else joins their outputs before the dense layers. Weights and biases as in
 * {@link MlpSpec}.
 */
export interface CnnSpec {
  readonly kind: "cnn";
  /** Output channels of each convolution. */
  readonly channels: readonly number[];
  /** Kernel size: one for all convolutions, or one for each. Default: 3. */
  readonly kernel?: number | readonly number[];
  /** Default: 1. */
  readonly strides?: number | readonly number[];
  /** Default: [512]. */
  readonly hidden?: readonly number[];
  /** Default: relu. */
  readonly activation?: ActivationName;
  /**
   * Images are divided by this number; in a dict, one for all or one for each by name. Default: the greatest magnitude
   * that the bounds allow where it lies between 1 and 65,535, so 255 for bytes; else 1. Where observations are
   * normalized the default is 1.
   */
  readonly scale?: number | Readonly<Record<string, number>>;
}

/**
 * A policy in plain data. The defaults are those of CleanRL's PPO.
 *
 * @example
 * ```ts
 * const spec: PolicySpec = { encoder: { kind: "mlp", hidden: [128] }, memory: { kind: "gru", width: 64 } };
 * ```
 */
export interface PolicySpec {
  /** Default: { kind: "mlp" }. */
  readonly encoder?: MlpSpec | CnnSpec;
  /** A recurrent layer after the encoder of each tower. Default: none. */
  readonly memory?: { readonly kind: "gru" | "lstm"; readonly width: number };
  /** Policy and value have separate towers, or share one up to their heads. Default: separate. */
  readonly towers?: "separate" | "shared";
  /**
   * For boxes: `independent` has one deviation parameter for each action, `dependent` computes it from the
   * observation, from exp(-20) to exp(2). Default: independent.
   */
  readonly deviation?: "independent" | "dependent";
  /** For boxes: the initial logarithm of the deviation. Default: 0. */
  readonly logDeviation?: number;
  /** For boxes with finite bounds: actions are squashed into them by tanh instead of clipped. Default: false. */
  readonly squash?: boolean;
  /** A custom policy, for `loadPolicy`: the file that exports `(spaces) => Policy`, and the name of the export. */
  readonly module?: { readonly url: string; readonly name: string };
}

/** The activations by name, with their default options. */
export const activations: Readonly<Record<ActivationName, (x: Value) => Value>> = {
  relu: (x) => nn.relu(x),
  tanh: (x) => nn.tanh(x),
  gelu: (x) => nn.gelu(x),
  silu: (x) => nn.silu(x),
  elu: (x) => nn.elu(x),
  sigmoid: (x) => nn.sigmoid(x),
};

const required = { required: true } as const;
const size = option.integer({ min: 1 });
const sizes = option.made<readonly number[]>(
  "a list of whole numbers from 1 on, such as [64, 64]",
  (value) => Array.isArray(value) && value.every(size.accepts),
  {},
);
const divisor = option.number({ above: 0 });

const mlpTable = {
  kind: option.oneOf(["mlp", "cnn"], required),
  hidden: sizes,
  activation: option.oneOf(Object.keys(activations), {}),
};
const cnnTable = {
  ...mlpTable,
  channels: option.made<readonly number[]>(
    "a list of at least one whole number from 1 on, such as [32, 64, 64]",
    (value) => sizes.accepts(value) && (value as readonly number[]).length > 0,
    required,
  ),
  kernel: option.either(size, sizes, {}),
  strides: option.either(size, sizes, {}),
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

const table = {
  encoder: option.object<MlpSpec | CnnSpec>('an encoder such as { kind: "mlp" }', [], {}),
  memory: option.group<NonNullable<PolicySpec["memory"]>>(
    { kind: option.oneOf(["gru", "lstm"], required), width: option.integer({ min: 1, required: true }) },
    {},
  ),
  towers: option.oneOf(["separate", "shared"], {}),
  deviation: option.oneOf(["independent", "dependent"], {}),
  logDeviation: option.number({}),
  squash: option.flag({}),
  module: option.group<NonNullable<PolicySpec["module"]>>(
    { url: option.text(required), name: option.text(required) },
    {},
  ),
} satisfies OptionTable<PolicySpec>;

/** Refuses a spec that describes no policy, naming what is wrong in it. */
export function checkSpec(spec: PolicySpec): void {
  checkOptions("policy", spec, table);
  const kind = "policy.encoder";
  const { encoder } = spec;
  if (encoder) checkOptions(kind, encoder, encoder.kind === "cnn" ? cnnTable : mlpTable);
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
