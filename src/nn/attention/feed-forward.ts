import { nn, np, spec, type Tensor, type Value } from "../../engine/index.ts";
import { dense } from "../dense.ts";
import { dropout } from "../dropout.ts";
import type { Initializer } from "../initializers.ts";
import { childOptions } from "../layer.ts";
import type { Model, Params } from "../model.ts";
import { badOption, checkOptions, checkSize, checkWord } from "../options.ts";
import { childKey, childParams } from "../parameters.ts";
import { inLayer } from "../path.ts";
import { quickGelu } from "./gelu.ts";

/** What a feed-forward part computes between its products; `geluExact` is by erf, PyTorch's default. */
export type FeedForwardActivation = "gelu" | "geluExact" | "relu" | "silu" | "swiglu";

/** Options of {@link feedForward}. */
export interface FeedForwardOptions {
  /** The width in the middle. */
  readonly hidden: number;
  /** `gelu` unless told. `swiglu` has a third product, `gate`. */
  readonly activation?: FeedForwardActivation;
  /** Whether biases are added; true unless told. */
  readonly bias?: boolean;
  /** While training, drops so much of the middle. */
  readonly dropout?: number;
  /** Weights; {@link dense}'s unless told. */
  readonly init?: Initializer;
}

const activations = {
  gelu: quickGelu,
  geluExact: (x: Value) => nn.gelu(x, { approximate: false }),
  relu: nn.relu,
  silu: nn.silu,
  swiglu: nn.silu,
} as const;
const words = Object.keys(activations) as FeedForwardActivation[];

/**
 * The part of a transformer's block that sees each place by itself: wider, an activation, and back to the input's
 * width. Parameters: `up`, `down` and for swiglu `gate`, each with `w` and `b`.
 *
 * @example
 * ```ts
 * const part = nn.feedForward({ hidden: 256, activation: "swiglu", bias: false });
 * ```
 */
export function feedForward(options: FeedForwardOptions): Model {
  const kind = "feedForward";
  checkOptions(kind, options, ["hidden", "activation", "bias", "dropout", "init"]);
  const { bias = true, init } = options;
  const activation = checkWord(kind, "activation", options.activation ?? "gelu", words);
  const layer = (width: number): Model => dense(width, { bias, ...(init ? { init } : {}) });
  const hidden = layer(checkSize(kind, "hidden", options.hidden));
  const gated = activation === "swiglu";
  const drop = dropout(options.dropout ?? 0);
  const middle = { up: hidden, ...(gated ? { gate: hidden } : {}) };
  return {
    kind,
    layers: { ...middle, down: layer(1) },
    init: (key, input, where) => {
      const width = input.shape.at(-1);
      if (width === undefined)
        throw badOption(kind, "the input has no features", "give [batch, ..., features]");
      const parts: [string, Params<Tensor>][] = Object.entries(middle).map(([name, part]) => [
        name,
        inLayer(name, () => part.init(childKey(key, name), input, where)),
      ]);
      const down = layer(width).init(childKey(key, "down"), spec([1, options.hidden]), where);
      return { ...Object.fromEntries(parts), down };
    },
    apply: (params, x, given = {}) => {
      // Rows of places: the gradients of weights are then plain products of two matrices.
      const rows = np.reshape(x, [-1, x.shape.at(-1) as number]);
      const part = (name: "up" | "gate"): Value =>
        inLayer(name, () => hidden.apply(childParams(params, name), rows));
      const active = activations[activation](part(gated ? "gate" : "up"));
      const wide = drop.apply({}, gated ? np.multiply(active, part("up")) : active, childOptions(given, 0));
      const y = inLayer("down", () =>
        layer(x.shape.at(-1) as number).apply(childParams(params, "down"), wide),
      );
      return np.reshape(y, x.shape);
    },
  };
}
