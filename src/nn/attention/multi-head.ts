import { option } from "../../core/index.ts";
import { np, random, type Spec, type Tensor, Value } from "../../engine/index.ts";
import { dropout } from "../dropout.ts";
import { type Initializer, xavierUniform, zeros } from "../initializers.ts";
import {
  childKey,
  childParams,
  drawParameters,
  layerError,
  parameter,
  shapeOf,
  shapeText,
} from "../layer.ts";
import type { ApplyOptions, Model, Params } from "../model.ts";
import { badOption, checkOptions, checkSize, row } from "../options.ts";
import { recipeOf } from "../recipe.ts";
import { attend, attendStacked, stacked } from "./attend.ts";
import { rotary as rotate } from "./positions.ts";

/** Options of {@link multiHeadAttention}. */
export interface MultiHeadOptions {
  readonly heads: number;
  /** Fewer heads for keys and values, each shared by several of the queries'. Default: as many. */
  readonly keyValueHeads?: number;
  /** The width of queries and result. Default: the input's. */
  readonly width?: number;
  /** Places see themselves and what comes before them. Default: false. */
  readonly causal?: boolean;
  /** While training, drops so many of the weights. */
  readonly dropout?: number;
  /** Rotary positions: true, or their base. */
  readonly rotary?: boolean | { readonly base: number };
  /** Adds biases; `qkv`: to queries, keys and values alone. Default: true. */
  readonly bias?: boolean | "qkv";
  /** Weights of all four products. Default: Glorot's uniform ones. */
  readonly init?: Initializer;
}

/** Input of attention beside a plain value. */
export interface AttentionInput {
  /** [batch, time, features] */
  readonly x: Value;
  /** Source of keys and values, [batch, length, features]. Default: `x` itself. */
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
    options?: CachedOptions,
  ): { readonly y: Value; readonly cache: KeyValueCache };
}

/** Options of a cached pass, for sequences of different lengths in one batch. */
export interface CachedOptions {
  /** Positions of the new places [batch, time], where they are not their places in the cache. */
  readonly positions?: Value;
  /** Booleans that repeat to [batch, heads, time, maxLength]: false hides places of the cache. */
  readonly mask?: Value;
}

const kind = "attention";
/** The row of biases in attention. */
export const biasRow = option.either(row.flag, option.oneOf(["qkv"], {}), {});
const multiHeadOptions = {
  heads: row.size,
  keyValueHeads: row.size,
  width: row.size,
  causal: row.flag,
  dropout: row.share,
  rotary: option.made<boolean | { readonly base: number }>(
    "true, false or { base }",
    (value) => row.flag.accepts(value) || typeof value === "object",
    {},
  ),
  bias: biasRow,
  init: row.initializer,
};

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
  checkOptions("multiHeadAttention", options, multiHeadOptions);
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
  const rate = options.dropout ?? 0;
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
    ...recipeOf("multiHeadAttention", options),
    init: (key, input, where) => {
      const { x, memory = x } = "x" in input ? input : { x: input as Spec };
      const [inner, outer] = [features(shapeOf(kind, x)), features(shapeOf(kind, memory))];
      const all = width ?? inner;
      const dim = dimOf(all, heads, options.rotary);
      const part = (name: string, from: number, to: number): Params<Tensor> => {
        const b = bias === "qkv" ? name !== "out" : bias;
        return drawParameters(
          childKey(key, name),
          { w: { shape: [from, to], init }, ...(b ? { b: { shape: [to], init: zeros } } : {}) },
          where,
        );
      };
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
      const stack = checkSize("initCache", "the batch", batch) * shared;
      const shape = [stack, checkSize("initCache", "maxLength", maxLength), width / heads];
      return { k: np.zeros(shape), v: np.zeros(shape) };
    },
    applyCached: (params, x, cache, position, { positions = position, mask } = {}) => {
      if (!causal)
        throw badOption(
          "multiHeadAttention",
          "what sees later places cannot be computed before they are known",
          "make it causal: multiHeadAttention({ heads, causal: true })",
        );
      features(x.shape);
      const few = isFew(x);
      const [q, k, v] = project(params, x, ["q", "k", "v"], counts, few) as [Value, Value, Value];
      checkCache(kind, cache, k);
      const next = writeCache(cache, turned(k, positions), v, position);
      const sight = { causal: true, from: position, mask };
      const mixed = attendStacked(kind, turned(q, positions), next.k, next.v, sight);
      return { y: joinHeads(params, mixed, few), cache: next };
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

interface Part {
  readonly w: Value;
  readonly b: Value | undefined;
}

function checkedPart(params: Params, name: string, x: Value): Part {
  const own = childParams(params, name);
  const w = parameter(kind, own, "w");
  if (x.shape.at(-1) !== w.shape[0])
    throw layerError(
      kind,
      "SHAPE_MISMATCH",
      `the input ${shapeText(x.shape)} has ${x.shape.at(-1)} features, but ${name}.w is ${shapeText(w.shape)}`,
      `give inputs of ${w.shape[0]} features, or draw parameters for these`,
    );
  return { w, b: own.b === undefined ? undefined : parameter(kind, own, "b") };
}

/** Number of heads in a part's outputs. */
export type HeadCounts = Readonly<Record<"q" | "k" | "v", number>>;

/**
 * Products of one input with several weights: [batch, length, heads, dim] for each. One product, but for few rows,
 * whose small ones need no cutting apart.
 */
export function project(
  params: Params,
  x: Value,
  parts: readonly ("q" | "k" | "v")[],
  heads: HeadCounts,
  few = false,
): Value[] {
  if (few && parts.length > 1) return parts.flatMap((name) => project(params, x, [name], heads, few));
  const [batch, length] = x.shape as [number, number];
  const own = parts.map((name) => checkedPart(params, name, x));
  const w = np.concatenate(
    own.map((part) => part.w),
    { axis: 1 },
  );
  const product = productOf(np.reshape(x, [batch * length, -1]), w, few);
  const biases = own.flatMap(({ b }) => (b ? [b] : []));
  const rows = biases.length === own.length ? np.add(product, np.concatenate(biases)) : product;
  let from = 0;
  return own.map(({ w: { shape } }, i) => {
    const width = shape[1] as number;
    const columns = np.slice(rows, ":", [from, from + width]);
    from += width;
    const count = heads[parts[i] as "q" | "k" | "v"];
    return np.reshape(columns, [batch, length, count, width / count]);
  });
}

/** Joins the heads' results [batch, length, heads, dim] by the last product: [batch, length, width]. */
export function joinHeads(params: Params, mixed: Value, few = false): Value {
  const [batch, length, heads, dim] = mixed.shape as [number, number, number, number];
  const rows = np.reshape(mixed, [batch * length, heads * dim]);
  const { w, b } = checkedPart(params, "out", rows);
  const y = productOf(rows, w, few);
  return np.reshape(b ? np.add(y, b) : y, [batch, length, -1]);
}

/** True for rows [..., features] that are so few, and so narrow, that many small products beat a large one. */
export function isFew(x: Value): boolean {
  const width = x.shape.at(-1) as number;
  return width <= 128 && x.size >= 8 * width && x.size <= 32 * width;
}

/**
 * Ranges of 64 that an axis is cut into. A piece of 64 x 128 weights stays in a core's first cache, and a product of at
 * most 32 x 128 x 128 numbers is one kernel of XLA's CPU compiler, which hands larger ones to threads that first have
 * to wake up: pieces took a little under half of the time.
 */
export const piecesOf = (length: number): readonly (readonly [number, number])[] =>
  length % 64 === 0
    ? Array.from({ length: length / 64 }, (_, i) => [64 * i, 64 * i + 64] as const)
    : [[0, length]];

export const sumOf = (values: readonly Value[]): Value => values.reduce((sum, value) => np.add(sum, value));

const productOf = (x: Value, w: Value, few: boolean): Value =>
  few && (w.shape[1] as number) <= 128
    ? sumOf(
        piecesOf(w.shape[0] as number).map((piece) =>
          np.matmul(np.slice(x, ":", piece), np.slice(w, piece, ":")),
        ),
      )
    : np.matmul(x, w);

/** The features of an input [batch, time, features]. */
export function features(shape: readonly number[]): number {
  const last = shape[2];
  if (last !== undefined && shape.length === 3) return last;
  throw layerError(
    kind,
    "SHAPE_MISMATCH",
    `the input is ${shapeText(shape)}, but it takes [batch, time, features]`,
    "give it three axes",
  );
}

/** Refuses queries and keys that do not belong together. */
export function checkHeads(q: Value, k: Value): void {
  if (q.shape[0] === k.shape[0] && q.shape[3] === k.shape[3]) return;
  throw layerError(
    kind,
    "SHAPE_MISMATCH",
    `queries are ${shapeText(q.shape)} and keys ${shapeText(k.shape)} as [batch, length, heads, dim]`,
    "give x and memory of one batch, and parameters that this model's init gave",
  );
}

/**
 * Keys and values of the places so far, [batch * heads, maxLength, dim], as attention multiplies them; places to come
 * hold anything.
 */
export type KeyValueCache = { readonly k: Value; readonly v: Value };

/** The cache with those of the places from `position` on. */
export function writeCache(
  cache: KeyValueCache,
  k: Value,
  v: Value,
  position: Value | number,
): KeyValueCache {
  return {
    k: np.dynamicUpdateSlice(cache.k, stacked(k), [0, position, 0]),
    v: np.dynamicUpdateSlice(cache.v, stacked(v), [0, position, 0]),
  };
}

/** Refuses a cache that was made for other keys. */
export function checkCache(kind: string, cache: KeyValueCache, k: Value): void {
  const [batch, length, heads, dim] = k.shape;
  const shape = cache.k.shape;
  const stack = (batch as number) * (heads as number);
  if (shape[0] === stack && shape[2] === dim && (shape[1] as number) >= (length as number)) return;
  throw layerError(
    kind,
    "SHAPE_MISMATCH",
    `the cache is ${shapeText(shape)}, but the new keys are ${shapeText(k.shape)}`,
    "make it with this model's initCache(batch, maxLength), for this batch and no fewer places",
  );
}
