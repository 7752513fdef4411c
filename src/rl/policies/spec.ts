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

/** Convolutions over observations [height, width, channels], then dense layers. */
export interface CnnSpec {
  readonly kind: "cnn";
  readonly channels: readonly number[];
  readonly kernel?: number | readonly number[];
  readonly strides?: number | readonly number[];
  readonly hidden?: readonly number[];
  /** Default relu. */
  readonly activation?: ActivationName;
  /** Observations are divided by this; 1 unless given, 255 for bytes. */
  readonly scale?: number;
}

/** A policy in plain data. What is left out has the defaults of CleanRL's PPO. */
export interface PolicySpec {
  /** Default { kind: "mlp" }. */
  readonly encoder?: MlpSpec | CnnSpec;
  /** What remembers, behind the encoder. Default none. */
  readonly memory?: { readonly kind: "gru" | "lstm"; readonly width: number };
  /** Whether policy and value have towers of their own or share one up to their heads. Default separate. */
  readonly towers?: "separate" | "shared";
  /**
   * For boxes: `independent` has a deviation of its own for each action, `dependent` one that follows from the
   * observation. Default independent.
   */
  readonly deviation?: "independent" | "dependent";
  /** For boxes: the logarithm of the deviation at the beginning. Default 0. */
  readonly logDeviation?: number;
  /** For boxes with finite bounds: tanh squashes actions into them; otherwise they are clipped. Default false. */
  readonly squash?: boolean;
  /** A policy of one's own: the file that exports it, and under which name: `(spaces) => Policy`. */
  readonly module?: { readonly url: string; readonly name: string };
}
