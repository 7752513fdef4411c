/** Activations by name, so that a policy can be described in plain data. */
export type ActivationName = "relu" | "tanh" | "gelu" | "silu" | "elu" | "sigmoid";

/** Dense layers. Weights are orthogonal with gain sqrt 2, biases 0. */
export interface MlpSpec {
  readonly kind: "mlp";
  /** Default [64, 64]. */
  readonly hidden?: readonly number[];
  /** Default tanh. */
  readonly activation?: ActivationName;
}

/**
 * Convolutions over pictures, boxes [height, width, channels], then dense layers. In a dict of observations every
 * picture has convolutions of its own, and all else joins what they give before the dense layers. Weights and biases as
 * in {@link MlpSpec}.
 */
export interface CnnSpec {
  readonly kind: "cnn";
  /** Of each convolution. */
  readonly channels: readonly number[];
  /** The window's length: one for all convolutions, or one for each. Default 3. */
  readonly kernel?: number | readonly number[];
  /** How far windows move. Default 1. */
  readonly strides?: number | readonly number[];
  /** Default [512]. */
  readonly hidden?: readonly number[];
  /** Default relu. */
  readonly activation?: ActivationName;
  /**
   * Pictures are divided by this; in a dict, one for all or one for each by its name. Default: the greatest magnitude
   * that their bounds allow where it lies between 1 and 65,535, so 255 for bytes; else 1. Where observations are
   * normalised the default is 1.
   */
  readonly scale?: number | Readonly<Record<string, number>>;
}

/**
 * A policy in plain data. What is left out has the defaults of CleanRL's PPO.
 *
 * @example
 * ```ts
 * const spec: PolicySpec = { encoder: { kind: "mlp", hidden: [128] }, memory: { kind: "gru", width: 64 } };
 * ```
 */
export interface PolicySpec {
  /** Default { kind: "mlp" }. */
  readonly encoder?: MlpSpec | CnnSpec;
  /** What remembers, behind the encoder of each tower. Default none. */
  readonly memory?: { readonly kind: "gru" | "lstm"; readonly width: number };
  /** Whether policy and value have towers of their own or share one up to their heads. Default separate. */
  readonly towers?: "separate" | "shared";
  /**
   * For boxes: `independent` has a deviation of its own for each action, `dependent` one that follows from the
   * observation, from exp(-20) to exp(2). Default independent.
   */
  readonly deviation?: "independent" | "dependent";
  /** For boxes: the logarithm of the deviation at the beginning. Default 0. */
  readonly logDeviation?: number;
  /** For boxes with finite bounds: tanh squashes actions into them; otherwise they are clipped. Default false. */
  readonly squash?: boolean;
  /** A policy of one's own, for `loadPolicy`: the file that exports `(spaces) => Policy`, and under which name. */
  readonly module?: { readonly url: string; readonly name: string };
}
