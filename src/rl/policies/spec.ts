import { badOption, checkNames, checkSize, checkWord, isPlainObject, shown } from "../../core/index.ts";
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

/** Refuses a spec that describes no policy, naming what is wrong in it. */
export function checkSpec(spec: PolicySpec): void {
  const names = ["encoder", "memory", "towers", "deviation", "logDeviation", "squash", "module"];
  checkNames("policy", checkObject("policy", spec), names);
  const { encoder, memory, towers, deviation, logDeviation, squash, module } = spec;
  if (encoder !== undefined) checkEncoder(encoder);
  if (memory !== undefined) {
    checkNames("policy.memory", checkObject("policy.memory", memory), ["kind", "width"]);
    checkWord("policy.memory", "kind", memory.kind, ["gru", "lstm"]);
    checkSize("policy.memory", "width", memory.width);
  }
  if (towers !== undefined) checkWord("policy", "towers", towers, ["separate", "shared"]);
  if (deviation !== undefined) checkWord("policy", "deviation", deviation, ["independent", "dependent"]);
  if (logDeviation !== undefined && !Number.isFinite(logDeviation))
    throw badOption("policy", `logDeviation is ${shown(logDeviation)}`, "give a finite number, e.g. -0.5");
  if (squash !== undefined && typeof squash !== "boolean")
    throw badOption("policy", `squash is ${shown(squash)}`, "give true or false");
  if (module !== undefined) {
    checkNames("policy.module", checkObject("policy.module", module), ["url", "name"]);
    for (const option of ["url", "name"] as const)
      if (typeof module[option] !== "string")
        throw badOption("policy.module", `${option} is ${shown(module[option])}`, "give a text");
  }
}

function checkEncoder(encoder: MlpSpec | CnnSpec): void {
  const kind = "policy.encoder";
  checkWord(kind, "kind", checkObject(kind, encoder).kind, ["mlp", "cnn"]);
  const names = ["kind", "hidden", "activation"];
  checkNames(
    kind,
    encoder,
    encoder.kind === "mlp" ? names : [...names, "channels", "kernel", "strides", "scale"],
  );
  checkSizes(kind, "hidden", encoder.hidden);
  if (encoder.activation !== undefined)
    checkWord(kind, "activation", encoder.activation, Object.keys(activations));
  if (encoder.kind === "mlp") return;
  checkSizes(kind, "channels", encoder.channels);
  if (!encoder.channels || encoder.channels.length === 0)
    throw badOption(kind, "there are no convolutions", "give channels, e.g. [32, 64, 64]");
  for (const option of ["kernel", "strides"] as const) {
    const given = encoder[option];
    if (typeof given === "number") checkSize(kind, option, given);
    else checkSizes(kind, option, given);
    if (Array.isArray(given) && given.length !== encoder.channels.length)
      throw badOption(
        kind,
        `${option} has ${given.length} numbers for ${encoder.channels.length} convolutions`,
        "give one for all, or one for each",
      );
  }
  const { scale = 1 } = encoder;
  for (const [name, each] of isPlainObject(scale) ? Object.entries(scale) : [["", scale] as const])
    if (!(Number.isFinite(each) && (each as number) > 0))
      throw badOption(
        kind,
        `scale${name && `.${name}`} is ${shown(each)}`,
        "give a number above 0, e.g. 255 for bytes",
      );
}

function checkSizes(kind: string, option: string, given: unknown): void {
  if (given === undefined) return;
  if (!Array.isArray(given))
    throw badOption(kind, `${option} is ${shown(given)}`, "give a list, e.g. [64, 64]");
  given.forEach((size, i) => {
    checkSize(kind, `${option}[${i}]`, size);
  });
}

function checkObject(kind: string, given: unknown): Readonly<Record<string, unknown>> {
  if (isPlainObject(given)) return given;
  throw badOption(kind, `it is ${shown(given)}`, "give an object, as PolicySpec describes it");
}
