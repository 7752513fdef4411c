import { np, type Value } from "../../engine/index.ts";
import { type Initializer, normal } from "../initializers.ts";
import { shapeOf, shapeText } from "../layer.ts";
import type { Model } from "../model.ts";
import { badOption, checkOptions, checkSize } from "../options.ts";
import { drawParameters, parameter } from "../parameters.ts";
import { layerError } from "../path.ts";
import { placesOf } from "./rotary.ts";

/** Options of {@link sinusoidal}. */
export interface SinusoidalOptions {
  /** The position of the first place, or of every place [length]; 0 unless told. */
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
  checkOptions("sinusoidal", options, ["positions"]);
  checkSize("sinusoidal", "length", length);
  if (checkSize("sinusoidal", "width", width) % 2 !== 0)
    throw badOption("sinusoidal", `width is ${width}`, "give an even width");
  const waves = np.power(10_000, np.multiply(np.arange(width / 2, { dtype: "f32" }), -2 / width));
  const angles = np.multiply(np.expandDims(placesOf(options.positions ?? 0, length), -1), waves);
  return np.reshape(np.stack([np.sin(angles), np.cos(angles)], { axis: -1 }), [length, width]);
}

/** Options of {@link learnedPositions}. */
export interface LearnedPositionsOptions {
  /** Small normal numbers (0.02) unless told. */
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
  checkOptions(kind, options, ["init"]);
  const { init = normal({ std: 0.02 }) } = options;
  return {
    kind,
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
