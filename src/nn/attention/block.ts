import { option, treeMap } from "../../core/index.ts";
import { customGradient, nn, np, spec, type Tensor, type Value } from "../../engine/index.ts";
import { dense } from "../dense.ts";
import { dropout } from "../dropout.ts";
import type { Initializer } from "../initializers.ts";
import { childKey, childOptions, childParams, inLayer } from "../layer.ts";
import type { ApplyOptions, Model, Params } from "../model.ts";
import { layerNorm, rmsNorm } from "../norm.ts";
import { badOption, checkOptions, checkSize, checkWord, row } from "../options.ts";
import { recipeOf } from "../recipe.ts";
import {
  type Attention,
  biasRow,
  type CachedOptions,
  isFew,
  type KeyValueCache,
  multiHeadAttention,
  piecesOf,
  sumOf,
} from "./multi-head.ts";

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

/** Activation between the two products of a feed-forward part; `geluExact` is by erf, PyTorch's default. */
export type FeedForwardActivation = "gelu" | "geluExact" | "relu" | "silu" | "swiglu";

/** Options of {@link feedForward}. */
export interface FeedForwardOptions {
  /** The width in the middle. */
  readonly hidden: number;
  /** Default: `gelu`. `swiglu` has a third product, `gate`. */
  readonly activation?: FeedForwardActivation;
  /** Adds biases. Default: true. */
  readonly bias?: boolean;
  /** While training, drops so much of the middle. */
  readonly dropout?: number;
  /** Weights. Default: {@link dense}'s. */
  readonly init?: Initializer;
}

const activations = {
  gelu: quickGelu,
  geluExact: (x: Value) => nn.gelu(x, { approximate: false }),
  relu: nn.relu,
  silu: nn.silu,
  swiglu: nn.silu,
} as const;
/** The row of the option `activation`. */
export const activationRow = option.oneOf(Object.keys(activations) as FeedForwardActivation[], {});

/**
 * The part of a transformer's block that sees each place by itself: wider, an activation, and back to the input's
 * width. Parameters: `up`, `down` and for swiglu `gate`, each with `w` and `b`.
 *
 * @example
 * ```ts
 * const part = nn.feedForward({ hidden: 256, activation: "swiglu", bias: false });
 * ```
 */
export function feedForward(options: FeedForwardOptions): FeedForward {
  const kind = "feedForward";
  checkOptions(kind, options, {
    hidden: row.size,
    activation: activationRow,
    bias: row.flag,
    dropout: row.share,
    init: row.initializer,
  });
  const { bias = true, init } = options;
  const activation = options.activation ?? "gelu";
  const layer = (width: number): Model => dense(width, { bias, ...(init ? { init } : {}) });
  const hidden = layer(checkSize(kind, "hidden", options.hidden));
  const gated = activation === "swiglu";
  const drop = dropout(options.dropout ?? 0);
  const middle = { up: hidden, ...(gated ? { gate: hidden } : {}) };
  /** The hidden features, [rows, hidden]. */
  const widened = (params: Params, x: Value): Value => {
    // Rows of places: the gradients of weights are then plain products of two matrices.
    const rows = np.reshape(x, [-1, x.shape.at(-1) as number]);
    const part = (name: "up" | "gate"): Value =>
      inLayer(name, () => hidden.apply(childParams(params, name), rows));
    const active = activations[activation](part(gated ? "gate" : "up"));
    return gated ? np.multiply(active, part("up")) : active;
  };
  return {
    kind,
    ...recipeOf(kind, options),
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
      const wide = drop.apply({}, widened(params, x), childOptions(given, 0));
      const y = inLayer("down", () =>
        layer(x.shape.at(-1) as number).apply(childParams(params, "down"), wide),
      );
      return np.reshape(y, x.shape);
    },
    applyToFew: (params, x) => {
      const { w, b } = childParams(params, "down") as { readonly w: Value; readonly b?: Value };
      const y = sumOf(
        piecesOf(w.shape[0] as number).map((piece) => {
          const columns = (value: Value): Value =>
            value.ndim === 1 ? np.slice(value, piece) : np.slice(value, ":", piece);
          const own = Object.keys(middle).map((name) => [name, treeMap(columns, childParams(params, name))]);
          return np.matmul(widened(Object.fromEntries(own), x), np.slice(w, piece, ":"));
        }),
      );
      return np.reshape(b ? np.add(y, b) : y, x.shape);
    },
  };
}

/** A feed-forward part as a model. */
export interface FeedForward extends Model {
  /** The same for few rows, without dropout: the hidden features in pieces, each of two small products. */
  applyToFew(params: Params, x: Value): Value;
}

/** Options of a transformer's blocks. */
export interface BlockOptions {
  readonly width: number;
  readonly heads: number;
  /** Fewer heads for keys and values. Default: as many. */
  readonly keyValueHeads?: number;
  /** The width in the middle of a block's feed-forward part, as a multiple of `width`. Default: 4. */
  readonly mlpRatio?: number;
  /** Default: `gelu`. */
  readonly activation?: FeedForwardActivation;
  /** While training, drops so much of embeddings, attention's weights and what each part adds. */
  readonly dropout?: number;
  /** Default: `layer`. */
  readonly norm?: "layer" | "rms";
  /** Added to the norms' variance. Default: that of the norm. */
  readonly normEpsilon?: number;
  /** Adds biases. Default: true. */
  readonly bias?: boolean;
  /** Adds biases in attention; `qkv`: to queries, keys and values alone. Default: `bias`. */
  readonly attentionBias?: boolean | "qkv";
  /** Weights of all products. Default: each layer's own. */
  readonly init?: Initializer;
}

export const blockOptions = {
  width: row.size,
  heads: row.size,
  keyValueHeads: row.size,
  mlpRatio: row.positive,
  activation: activationRow,
  dropout: row.share,
  norm: option.oneOf(["layer", "rms"], {}),
  normEpsilon: row.notNegative,
  bias: row.flag,
  attentionBias: biasRow,
  init: row.initializer,
};

/** One block: places see each other, then each is seen by itself; both parts are added to what came in. */
export interface Block extends Model {
  readonly attention: Attention;
  applyMasked(params: Params, x: Value, mask: Value | undefined, options: ApplyOptions): Value;
  applyCached(
    params: Params,
    x: Value,
    cache: KeyValueCache,
    position: Value | number,
    options?: CachedOptions,
  ): { readonly y: Value; readonly cache: KeyValueCache };
}

export function normOf(kind: string, { norm = "layer", normEpsilon: epsilon }: BlockOptions): Model {
  const given = epsilon === undefined ? {} : { epsilon };
  return checkWord(kind, "norm", norm, ["layer", "rms"]) === "rms" ? rmsNorm(given) : layerNorm(given);
}

/**
 * A block with norms before its parts, or after what they add (`normsAfter`). Parameters: `norm1`, `attention`,
 * `norm2`, `mlp`.
 */
export function block(
  kind: string,
  options: BlockOptions,
  sight: { readonly causal: boolean; readonly rotary: boolean | { readonly base: number } },
  normsAfter = false,
): Block {
  const { width, heads, keyValueHeads, mlpRatio = 4, activation, dropout: rate = 0, bias, init } = options;
  const given = <K extends string, V>(name: K, value: V | undefined) =>
    (value === undefined ? {} : { [name]: value }) as { readonly [P in K]?: V };
  const attention = multiHeadAttention({
    heads,
    width,
    ...sight,
    dropout: rate,
    ...given("keyValueHeads", keyValueHeads),
    ...given("bias", options.attentionBias ?? bias),
    ...given("init", init),
  });
  const mlp = feedForward({
    hidden: Math.round(width * mlpRatio),
    dropout: rate,
    ...given("activation", activation),
    ...given("bias", bias),
    ...given("init", init),
  });
  const norm = normOf(kind, options);
  const drop = dropout(rate);
  const layers = { norm1: norm, attention, norm2: norm, mlp } as const;
  const within = (params: Params, name: "norm1" | "norm2", x: Value): Value =>
    inLayer(name, () => norm.apply(childParams(params, name), x));

  const through = (
    params: Params,
    x: Value,
    attend: (x: Value) => Value,
    told: ApplyOptions,
    few = false,
  ): Value => {
    const before = (name: "norm1" | "norm2", value: Value) =>
      normsAfter ? value : within(params, name, value);
    const after = (name: "norm1" | "norm2", value: Value) =>
      normsAfter ? within(params, name, value) : value;
    const first = before("norm1", x);
    const seen = inLayer("attention", () => attend(first));
    const mixed = after("norm1", np.add(x, drop.apply({}, seen, childOptions(told, 1))));
    const normed = before("norm2", mixed);
    const own = childParams(params, "mlp");
    const thought = inLayer("mlp", () =>
      few ? mlp.applyToFew(own, normed) : mlp.apply(own, normed, childOptions(told, 2)),
    );
    return after("norm2", np.add(mixed, drop.apply({}, thought, childOptions(told, 3))));
  };
  const applyMasked: Block["applyMasked"] = (params, x, mask, told) =>
    through(
      params,
      x,
      (seen) =>
        attention.apply(
          childParams(params, "attention"),
          mask ? { x: seen, mask } : seen,
          childOptions(told, 0),
        ),
      told,
    );

  return {
    kind: "block",
    layers,
    attention,
    init: (key, input, where) => {
      const drawn = Object.entries(layers).map(([name, layer]): [string, Params<Tensor>] => [
        name,
        inLayer(name, () => layer.init(childKey(key, name), input, where)),
      ]);
      return Object.fromEntries(drawn);
    },
    apply: (params, x, told = {}) => applyMasked(params, x, undefined, told),
    applyMasked,
    applyCached: (params, x, cache, position, options) => {
      let next = cache;
      const attend = (seen: Value): Value => {
        const step = attention.applyCached(childParams(params, "attention"), seen, cache, position, options);
        next = step.cache;
        return step.y;
      };
      const y = through(params, x, attend, {}, isFew(x));
      return { y, cache: next };
    },
  };
}
