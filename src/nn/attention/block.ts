import { np, type Tensor, type Value } from "../../engine/index.ts";
import { dropout } from "../dropout.ts";
import type { Initializer } from "../initializers.ts";
import { childOptions } from "../layer.ts";
import type { ApplyOptions, Model, Params } from "../model.ts";
import { layerNorm, rmsNorm } from "../norm.ts";
import { checkWord } from "../options.ts";
import { childKey, childParams } from "../parameters.ts";
import { inLayer } from "../path.ts";
import type { KeyValueCache } from "./cache.ts";
import { type FeedForwardActivation, feedForward } from "./feed-forward.ts";
import { type Attention, multiHeadAttention } from "./multi-head.ts";

/** What the blocks of a transformer are like. */
export interface BlockOptions {
  readonly width: number;
  readonly heads: number;
  /** Fewer heads for keys and values; as many unless told. */
  readonly keyValueHeads?: number;
  /** The width in the middle of a block's feed-forward part, as a multiple of `width`; 4 unless told. */
  readonly mlpRatio?: number;
  /** `gelu` unless told. */
  readonly activation?: FeedForwardActivation;
  /** While training, drops so much of embeddings, attention's weights and what each part adds. */
  readonly dropout?: number;
  /** `layer` unless told. */
  readonly norm?: "layer" | "rms";
  /** Whether products have biases; true unless told. */
  readonly bias?: boolean;
  /** Weights of all products; each layer's own unless told. */
  readonly init?: Initializer;
}

export const blockOptionNames: readonly string[] = [
  "width",
  "heads",
  "keyValueHeads",
  "mlpRatio",
  "activation",
  "dropout",
  "norm",
  "bias",
  "init",
];

/** One block: places see each other, then each is seen by itself; both parts are added to what came in. */
export interface Block extends Model {
  readonly attention: Attention;
  applyMasked(params: Params, x: Value, mask: Value | undefined, options: ApplyOptions): Value;
  applyCached(
    params: Params,
    x: Value,
    cache: KeyValueCache,
    position: Value | number,
  ): { readonly y: Value; readonly cache: KeyValueCache };
}

export function normOf(kind: string, norm: BlockOptions["norm"] = "layer"): Model {
  return checkWord(kind, "norm", norm, ["layer", "rms"]) === "rms" ? rmsNorm() : layerNorm();
}

/** A block with norms before its parts. Parameters: `norm1`, `attention`, `norm2`, `mlp`. */
export function block(
  kind: string,
  options: BlockOptions,
  sight: { readonly causal: boolean; readonly rotary: boolean },
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
    ...given("bias", bias),
    ...given("init", init),
  });
  const mlp = feedForward({
    hidden: Math.round(width * mlpRatio),
    dropout: rate,
    ...given("activation", activation),
    ...given("bias", bias),
    ...given("init", init),
  });
  const norm = normOf(kind, options.norm);
  const drop = dropout(rate);
  const layers = { norm1: norm, attention, norm2: norm, mlp } as const;
  const within = (params: Params, name: "norm1" | "norm2", x: Value): Value =>
    inLayer(name, () => norm.apply(childParams(params, name), x));

  const through = (params: Params, x: Value, attend: (x: Value) => Value, told: ApplyOptions): Value => {
    const first = within(params, "norm1", x);
    const seen = inLayer("attention", () => attend(first));
    const mixed = np.add(x, drop.apply({}, seen, childOptions(told, 1)));
    const normed = within(params, "norm2", mixed);
    const thought = inLayer("mlp", () =>
      mlp.apply(childParams(params, "mlp"), normed, childOptions(told, 2)),
    );
    return np.add(mixed, drop.apply({}, thought, childOptions(told, 3)));
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
    applyCached: (params, x, cache, position) => {
      let next = cache;
      const attend = (seen: Value): Value => {
        const step = attention.applyCached(childParams(params, "attention"), seen, cache, position);
        next = step.cache;
        return step.y;
      };
      const y = through(params, x, attend, {});
      return { y, cache: next };
    },
  };
}
