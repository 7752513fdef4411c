import { shown } from "../../core/index.ts";
import { np, type Value } from "../../engine/index.ts";
import { shapeText } from "../layer.ts";
import { checkNumber, checkOptions } from "../options.ts";
import { layerError } from "../path.ts";

/** Options of {@link rotary}. */
export interface RotaryOptions {
  /** The position of the first place, or of every place [length] or [batch, length]; 0 unless told. */
  readonly positions?: Value | number;
  /** The longest wave is 2 pi times this; 10000 unless told. */
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
  checkOptions("rotary", options, ["positions", "base"]);
  const { positions = 0 } = options;
  const base = checkNumber("rotary", "base", options.base ?? 10_000, (b) => b > 0, "give a number above 0");
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
