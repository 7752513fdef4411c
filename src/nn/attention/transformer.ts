import { option } from "../../core/index.ts";
import { np, spec, type Tensor, type Value } from "../../engine/index.ts";
import { dense } from "../dense.ts";
import { dropout } from "../dropout.ts";
import { embedding } from "../embedding.ts";
import { normal } from "../initializers.ts";
import {
  childKey,
  childOptions,
  childParams,
  drawParameters,
  inLayer,
  layerError,
  parameter,
  shapeOf,
  shapeText,
} from "../layer.ts";
import type { ApplyOptions, Model, Params } from "../model.ts";
import { badOption, checkOptions, checkSize, row } from "../options.ts";
import { recipeOf } from "../recipe.ts";

import { type BlockOptions, block, blockOptions, normOf } from "./block.ts";
import type { CachedOptions, KeyValueCache } from "./multi-head.ts";
import { learnedPositions, sinusoidal } from "./positions.ts";

/** Options of {@link transformer}. */
export interface TransformerOptions extends BlockOptions {
  /** Number of tokens. */
  readonly vocabulary: number;
  /** Number of blocks. */
  readonly layers: number;
  /** The longest sequence. */
  readonly context: number;
  /** Default: `learned`. */
  readonly positions?: "learned" | "rotary" | "sinusoidal";
  /** The longest wave of rotary positions is 2 pi times this. Default: 10000. */
  readonly rotaryBase?: number;
  /** Lets positions attend only to earlier ones. Default: true. */
  readonly causal?: boolean;
  /** Uses the embeddings as weights of the last product. Default: false. */
  readonly tieEmbeddings?: boolean;
}

/** A transformer over tokens, and token by token with what is remembered of those before. */
export interface Transformer extends Model {
  /** Number of tokens. */
  readonly vocabulary: number;
  /** The longest sequence. */
  readonly context: number;
  /** Room for keys and values of all blocks, as values inside a compiled function. Default: `context` places. */
  initCache(batch: number, maxLength?: number): readonly KeyValueCache[];
  /**
   * Logits of the places from `position` on, which see those before through the cache. Equals the same places of the
   * whole pass. A traced position is not checked: stay within the cache's length.
   */
  applyCached(
    params: Params,
    tokens: Value,
    cache: readonly KeyValueCache[],
    position: Value | number,
    options?: TransformerCachedOptions,
  ): { readonly y: Value; readonly cache: readonly KeyValueCache[] };
}

/** Options of {@link Transformer.applyCached}. */
export interface TransformerCachedOptions extends CachedOptions {
  /** Gives the logits of one place of each sequence alone, by its index among the new ones: i32 [batch]. */
  readonly only?: Value;
}

const transformerOptions = {
  vocabulary: row.size,
  layers: row.size,
  context: row.size,
  positions: option.oneOf(["learned", "rotary", "sinusoidal"], {}),
  rotaryBase: row.positive,
  causal: row.flag,
  tieEmbeddings: row.flag,
};
const small = normal({ std: 0.02 });

/**
 * A transformer with norms before its parts: i32 tokens [batch, time] to logits [batch, time, vocabulary]. Parameters:
 * `tokens`, `positions` (where learned), `block0`, `block1`, ..., `norm`, and `head` unless embeddings are tied.
 *
 * @example
 * ```ts
 * const model = nn.transformer({ vocabulary: 96, width: 128, layers: 4, heads: 4, context: 128 });
 * const params = model.init(0, spec([32, 128], "i32")); // params.block0.attention.q.w
 * ```
 */
export function transformer(options: TransformerOptions): Transformer {
  const kind = "transformer";
  checkOptions(kind, options, { ...transformerOptions, ...blockOptions });
  const {
    width,
    vocabulary,
    context,
    causal = true,
    tieEmbeddings = false,
    init,
    dropout: rate = 0,
  } = options;
  const positions = options.positions ?? "learned";
  checkSize(kind, "width", width);
  checkSize(kind, "context", context);
  if (positions === "sinusoidal" && width % 2 !== 0)
    throw badOption(kind, `width is ${width}, and sinusoidal positions come in pairs`, "give an even width");
  const rotary = positions === "rotary";
  const names = Array.from({ length: checkSize(kind, "layers", options.layers) }, (_, i) => `block${i}`);
  const turned = rotary && options.rotaryBase !== undefined ? { base: options.rotaryBase } : rotary;
  const part = block(kind, options, { causal, rotary: turned });
  const norm = normOf(kind, options);
  const tokens = embedding(vocabulary, width, { init: init ?? small });
  const head = dense(vocabulary, { bias: false, init: init ?? small });
  const drop = dropout(rate);

  const embedded = (params: Params, x: Value, position: Value | number, places?: Value): Value => {
    const [batch, time] = x.shape as [number, number];
    if (x.ndim !== 2 || time > context)
      throw layerError(
        kind,
        "SHAPE_MISMATCH",
        `the input is ${shapeText(x.shape)}, but it takes [batch, time] with a time of at most ${context}`,
        "cut sequences to the context, or make it longer",
      );
    if (typeof position === "number" && position + time > context)
      throw layerError(
        kind,
        "SHAPE_MISMATCH",
        `places ${position} to ${position + time} do not fit into a context of ${context}`,
        "stop before it is full, or make it longer",
      );
    const vectors = inLayer("tokens", () => tokens.apply(childParams(params, "tokens"), x));
    if (positions === "rotary") return vectors;
    if (places && positions === "sinusoidal") {
      const flat = sinusoidal(batch * time, width, { positions: np.reshape(places, [batch * time]) });
      return np.add(vectors, np.reshape(flat, [batch, time, width]));
    }
    if (positions === "sinusoidal") return np.add(vectors, sinusoidal(time, width, { positions: position }));
    const table = inLayer("positions", () => parameter(kind, childParams(params, "positions"), "w"));
    const own = places
      ? np.take(table, places, { axis: 0 })
      : np.dynamicSlice(table, [position, 0], [time, width]);
    return np.add(vectors, own);
  };

  const logits = (params: Params, x: Value): Value => {
    const [batch, time] = x.shape as [number, number];
    const normed = inLayer("norm", () => norm.apply(childParams(params, "norm"), x));
    const rows = np.reshape(normed, [batch * time, width]);
    const y = tieEmbeddings
      ? np.matmul(rows, np.transpose(parameter(kind, childParams(params, "tokens"), "w")))
      : inLayer("head", () => head.apply(childParams(params, "head"), rows));
    return np.reshape(y, [batch, time, vocabulary]);
  };

  return {
    kind,
    vocabulary,
    context,
    ...recipeOf(kind, options),
    layers: {
      tokens,
      ...(positions === "learned" ? { positions: learnedPositions(context) } : {}),
      ...Object.fromEntries(names.map((name) => [name, part])),
      norm,
      ...(tieEmbeddings ? {} : { head }),
    },
    init: (key, input, where) => {
      const [batch = 1, time = 1, ...rest] = shapeOf(kind, input);
      if (rest.length > 0 || input.shape.length !== 2)
        throw layerError(
          kind,
          "SHAPE_MISMATCH",
          `the input is ${shapeText(input.shape)}`,
          "give [batch, time]",
        );
      const inner = spec([batch, time, width]);
      const drawn: Record<string, Params<Tensor>> = {};
      const draw = (name: string, layer: Model, like = inner): void => {
        drawn[name] = inLayer(name, () => layer.init(childKey(key, name), like, where));
      };
      draw("tokens", tokens, input);
      if (positions === "learned")
        drawn.positions = drawParameters(
          childKey(key, "positions"),
          { w: { shape: [context, width], init: small } },
          where,
        );
      for (const name of names) draw(name, part);
      draw("norm", norm);
      if (!tieEmbeddings) draw("head", head);
      return drawn;
    },
    apply: (params, x, told: ApplyOptions = {}) => {
      const start = drop.apply({}, embedded(params, x, 0), childOptions(told, names.length));
      const last = names.reduce(
        (y, name, i) => inLayer(name, () => part.apply(childParams(params, name), y, childOptions(told, i))),
        start,
      );
      return logits(params, last);
    },
    initCache: (batch, maxLength = context) => {
      if (maxLength > context && !rotary)
        throw badOption(
          "initCache",
          `maxLength ${maxLength} is beyond the context of ${context}`,
          "stay within it",
        );
      return names.map(() => part.attention.initCache(batch, maxLength));
    },
    applyCached: (params, x, cache, position, { only, ...options } = {}) => {
      if (cache.length !== names.length)
        throw layerError(
          kind,
          "SHAPE_MISMATCH",
          `${cache.length} caches were given for ${names.length} blocks`,
          "make them with this model's initCache",
        );
      let y = embedded(params, x, position, options.positions);
      const next = names.map((name, i) =>
        inLayer(name, () => {
          const step = part.applyCached(
            childParams(params, name),
            y,
            cache[i] as KeyValueCache,
            position,
            options,
          );
          y = step.y;
          return step.cache;
        }),
      );
      const seen = only ? np.takeAlongAxis(y, np.expandDims(only, [1, 2]), { axis: 1 }) : y;
      return { y: logits(params, seen), cache: next };
    },
  };
}
