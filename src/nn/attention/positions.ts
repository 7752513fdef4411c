import { shown } from "../../core/index.ts";
import { np, type Value } from "../../engine/index.ts";
import { type Initializer, normal } from "../initializers.ts";
import { drawParameters, layerError, parameter, shapeOf, shapeText } from "../layer.ts";
import type { Model } from "../model.ts";
import { badOption, checkOptions, checkSize, row } from "../options.ts";
import { recipeOf } from "../recipe.ts";

/** Options of {@link sinusoidal}. */
export interface SinusoidalOptions {
  /** The position of the first place, or of every place [length]. Default: 0. */
  readonly positions?: Value | number;
}

/**
 * Vectors that tell places apart without being learned: sines and cosines in turn, each pair of a longer wave.
 *
 * @example
 * ```ts
 * const x = np.add(embedded, nn.sinusoidal(128, 64)); // [128, 64]
 * ```
 */
export function sinusoidal(length: number, width: number, options: SinusoidalOptions = {}): Value {
  checkOptions("sinusoidal", options, { positions: row.array });
  checkSize("sinusoidal", "length", length);
  if (checkSize("sinusoidal", "width", width) % 2 !== 0)
    throw badOption("sinusoidal", `width is ${width}`, "give an even width");
  const waves = np.power(10_000, np.multiply(np.arange(width / 2, { dtype: "f32" }), -2 / width));
  const angles = np.multiply(np.expandDims(placesOf(options.positions ?? 0, length), -1), waves);
  return np.reshape(np.stack([np.sin(angles), np.cos(angles)], { axis: -1 }), [length, width]);
}

/** Options of {@link learnedPositions}. */
export interface LearnedPositionsOptions {
  /** Default: small normal numbers (0.02). */
  readonly init?: Initializer;
}

/**
 * Adds a learned vector to each place: [batch, length, width] with a length up to `context`. Parameter: `w`
 * [context, width].
 *
 * @example
 * ```ts
 * const model = nn.sequential([nn.embedding(256, 64), nn.learnedPositions(128), nn.dense(256)]);
 * ```
 */
export function learnedPositions(context: number, options: LearnedPositionsOptions = {}): Model {
  const kind = "learnedPositions";
  checkSize(kind, "context", context);
  checkOptions(kind, options, { init: row.initializer });
  const { init = normal({ std: 0.02 }) } = options;
  return {
    kind,
    ...recipeOf(kind, { context, ...options }),
    init: (key, input, where) =>
      drawParameters(key, { w: { shape: [context, shapeOf(kind, input).at(-1) ?? 1], init } }, where),
    apply: (params, x) => {
      const w = parameter(kind, params, "w");
      const [length, width] = x.shape.slice(-2);
      if (x.ndim !== 3 || width !== w.shape[1] || (length as number) > (w.shape[0] as number))
        throw layerError(
          kind,
          "SHAPE_MISMATCH",
          `the input is ${shapeText(x.shape)}, but w is ${shapeText(w.shape)}`,
          "give inputs [batch, length, width] no longer than the context",
        );
      return np.add(x, np.slice(w, [0, length as number]));
    },
  };
}

/** Options of {@link rotary}. */
export interface RotaryOptions {
  /** The position of the first place, or of every place [length] or [batch, length]. Default: 0. */
  readonly positions?: Value | number;
  /** The longest wave is 2 pi times this. Default: 10000. */
  readonly base?: number;
}

/**
 * Turns pairs of features by angles that grow with their place, so that products of queries and keys depend on how far
 * apart they are. Takes [batch, length, heads, dim] with an even dim; feature i goes with feature i + dim / 2, as in
 * Llama and GPT-NeoX.
 *
 * @example
 * ```ts
 * const scores = nn.dotProductAttention(nn.rotary(q), nn.rotary(k), v, { causal: true });
 * ```
 */
export function rotary(x: Value, options: RotaryOptions = {}): Value {
  checkOptions("rotary", options, { positions: row.array, base: row.positive });
  const { positions = 0 } = options;
  const base = options.base ?? 10_000;
  const shape: unknown = (x as Partial<Value> | undefined)?.shape;
  const [batch, length, heads, dim] = Array.isArray(shape) ? x.shape : [];
  if (dim === undefined || x.shape.length !== 4 || dim % 2 !== 0)
    throw layerError(
      "rotary",
      "SHAPE_MISMATCH",
      `the input is ${Array.isArray(shape) ? shapeText(x.shape) : shown(x)}, but it takes [batch, length, heads, dim] with an even dim`,
      "make the width of a head even",
    );
  const half = dim / 2;
  const places = placesOf(positions, length as number);
  const waves = np.power(base, np.multiply(np.arange(half, { dtype: "f32" }), -1 / half));
  // [length, 1, 1, half], with the batch in front where it has positions of its own.
  const angles = np.multiply(np.expandDims(places, [-1, -2, -3]), waves);
  const pairs = np.reshape(x, [batch as number, length as number, heads as number, 2, half]);
  // (a, b) becomes (a cos - b sin, b cos + a sin): the pair times cos, and the swapped pair times -sin and sin.
  const signs = np.reshape(np.array([-1, 1]), [2, 1]);
  const turned = np.add(
    np.multiply(pairs, np.cos(angles)),
    np.multiply(np.flip(pairs, { axis: -2 }), np.multiply(np.sin(angles), signs)),
  );
  return np.astype(np.reshape(turned, x.shape), x.dtype);
}

/** Positions as floats: counted on from a first one where there is only that. */
export function placesOf(positions: Value | number, length: number): Value {
  if (typeof positions !== "number" && positions.ndim > 0) return np.astype(positions, "f32");
  const counted = np.arange(length, { dtype: "f32" });
  return positions === 0
    ? counted
    : np.add(counted, typeof positions === "number" ? positions : np.astype(positions, "f32"));
}
