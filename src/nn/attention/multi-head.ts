import { np, random, type Spec, type Tensor, Value } from "../../engine/index.ts";
import { dropout } from "../dropout.ts";
import { type Initializer, xavierUniform, zeros } from "../initializers.ts";
import { shapeOf } from "../layer.ts";
import type { ApplyOptions, Model, Params } from "../model.ts";
import { badOption, checkNumber, checkOptions, checkSize } from "../options.ts";
import { childKey, drawParameters } from "../parameters.ts";
import { attend } from "./attend.ts";
import { checkCache, type KeyValueCache, writeCache } from "./cache.ts";
import { checkHeads, features, joinHeads, project } from "./projections.ts";
import { rotary as rotate } from "./rotary.ts";

/** Options of {@link multiHeadAttention}. */
export interface MultiHeadOptions {
  readonly heads: number;
  /** Fewer heads for keys and values, each shared by several of the queries'; as many unless told. */
  readonly keyValueHeads?: number;
  /** The width of queries and result; the input's unless told. */
  readonly width?: number;
  /** Places see themselves and what comes before them; false unless told. */
  readonly causal?: boolean;
  /** While training, drops so many of the weights. */
  readonly dropout?: number;
  /** Rotary positions: true, or their base. */
  readonly rotary?: boolean | { readonly base: number };
  /** Whether biases are added; true unless told. */
  readonly bias?: boolean;
  /** Weights of all four products; Glorot's uniform ones unless told. */
  readonly init?: Initializer;
}

/** What attention takes beside a plain value. */
export interface AttentionInput {
  /** [batch, time, features] */
  readonly x: Value;
  /** What keys and values are made from, [batch, length, features]; `x` itself unless given. */
  readonly memory?: Value;
  /** Booleans that repeat to [batch, heads, time, length]: true where a place may see another. */
  readonly mask?: Value;
}

/** Attention as a model, and token by token with what is remembered of those before. */
export interface Attention extends Model<Value | AttentionInput, Value> {
  /** Room for the keys and values of so many places, as values inside a compiled function. */
  initCache(batch: number, maxLength: number): KeyValueCache;
  /**
   * The places from `position` on, which see those before through the cache. Equals the same places of the whole
   * causal pass. Only for causal attention.
   */
  applyCached(
    params: Params,
    x: Value,
    cache: KeyValueCache,
    position: Value | number,
  ): { readonly y: Value; readonly cache: KeyValueCache };
}

const kind = "attention";
const names = ["heads", "keyValueHeads", "width", "causal", "dropout", "rotary", "bias", "init"];

/**
 * Multi-head attention. Parameters: `q`, `k`, `v` and `out`, each with `w` [in, out] and `b`.
 *
 * @example
 * ```ts
 * const layer = nn.multiHeadAttention({ heads: 4, causal: true, rotary: true });
 * const params = layer.init(0, spec([32, 128, 64]));
 * const y = layer.apply(params, { x, mask }); // [32, 128, 64], inside compile
 * ```
 */
export function multiHeadAttention(options: MultiHeadOptions): Attention {
  checkOptions("multiHeadAttention", options, names);
  const { bias = true, causal = false, init = xavierUniform() } = options;
  const heads = checkSize("multiHeadAttention", "heads", options.heads);
  const shared = checkSize("multiHeadAttention", "keyValueHeads", options.keyValueHeads ?? heads);
  if (heads % shared !== 0)
    throw badOption(
      "multiHeadAttention",
      `${heads} heads cannot share ${shared} of keys and values evenly`,
      "make heads a multiple of keyValueHeads",
    );
  const { width } = options;
  if (width !== undefined) dimOf(checkSize("multiHeadAttention", "width", width), heads, options.rotary);
  const rate = checkNumber("multiHeadAttention", "dropout", options.dropout ?? 0, (x) => x >= 0 && x <= 1);
  const drop = dropout(rate);
  const base = typeof options.rotary === "object" ? options.rotary.base : 10_000;
  const turned = (x: Value, positions: Value | number): Value =>
    options.rotary ? rotate(x, { positions, base }) : x;

  const counts = { q: heads, k: shared, v: shared };

  const factorOf = (q: Value, k: Value, { train, key }: ApplyOptions): Value | undefined => {
    if (!train || rate === 0) return undefined;
    const shape = [q.shape[0] as number, heads, q.shape[1] as number, k.shape[1] as number];
    return drop.apply({}, np.ones(shape), { train, ...(key ? { key: random.foldIn(key, 0) } : {}) });
  };

  return {
    kind,
    init: (key, input, where) => {
      const { x, memory = x } = "x" in input ? input : { x: input as Spec };
      const [inner, outer] = [features(shapeOf(kind, x)), features(shapeOf(kind, memory))];
      const all = width ?? inner;
      const dim = dimOf(all, heads, options.rotary);
      const part = (name: string, from: number, to: number): Params<Tensor> =>
        drawParameters(
          childKey(key, name),
          { w: { shape: [from, to], init }, ...(bias ? { b: { shape: [to], init: zeros } } : {}) },
          where,
        );
      return {
        q: part("q", inner, all),
        k: part("k", outer, shared * dim),
        v: part("v", outer, shared * dim),
        out: part("out", all, all),
      };
    },
    apply: (params, input, given = {}) => {
      const { x, memory, mask }: AttentionInput = input instanceof Value ? { x: input } : input;
      features(x.shape);
      if (memory) features(memory.shape);
      const [q, k, v] = (
        memory === undefined
          ? project(params, x, ["q", "k", "v"], counts)
          : [...project(params, x, ["q"], counts), ...project(params, memory, ["k", "v"], counts)]
      ) as [Value, Value, Value];
      checkHeads(q, k);
      const factor = factorOf(q, k, given);
      return joinHeads(params, attend(kind, turned(q, 0), turned(k, 0), v, { mask, causal, factor }));
    },
    initCache: (batch, maxLength) => {
      if (width === undefined)
        throw badOption(
          "multiHeadAttention",
          "the width is known only from inputs, and a cache has none",
          "give it: multiHeadAttention({ heads, width })",
        );
      const shape = [
        checkSize("initCache", "the batch", batch),
        checkSize("initCache", "maxLength", maxLength),
        shared,
        width / heads,
      ];
      return { k: np.zeros(shape), v: np.zeros(shape) };
    },
    applyCached: (params, x, cache, position) => {
      if (!causal)
        throw badOption(
          "multiHeadAttention",
          "what sees later places cannot be computed before they are known",
          "make it causal: multiHeadAttention({ heads, causal: true })",
        );
      features(x.shape);
      const [q, k, v] = project(params, x, ["q", "k", "v"], counts) as [Value, Value, Value];
      checkCache(kind, cache, k);
      const next = writeCache(cache, turned(k, position), v, position);
      const mixed = attend(kind, turned(q, position), next.k, next.v, { causal: true, from: position });
      return { y: joinHeads(params, mixed), cache: next };
    },
  };
}

function dimOf(width: number, heads: number, rotary: MultiHeadOptions["rotary"]): number {
  const dim = width / heads;
  if (!Number.isInteger(dim))
    throw badOption(
      "multiHeadAttention",
      `the width ${width} has no ${heads} equal heads`,
      "make it a multiple",
    );
  if (rotary && dim % 2 !== 0)
    throw badOption("multiHeadAttention", `heads are ${dim} wide, and rotary turns pairs`, "make them even");
  return dim;
}
