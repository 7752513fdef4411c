import { np, type Value } from "../engine/index.ts";
import { ones, zeros } from "./initializers.ts";
import { drawParameters, layerError, parameter, shapeOf, shapeText } from "./layer.ts";
import type { Model, Params } from "./model.ts";
import { checkOptions, checkSize, row } from "./options.ts";
import { recipeOf } from "./recipe.ts";

/** Options of {@link layerNorm} and {@link groupNorm}. */
export interface NormOptions {
  /** Added to the variance. Default: 1e-5. */
  readonly epsilon?: number;
  /** Multiplies features by a parameter. Default: true. */
  readonly scale?: boolean;
  /** Adds a parameter to features. Default: true. */
  readonly bias?: boolean;
}

/** Options of {@link rmsNorm}. */
export interface RmsNormOptions {
  /** Added to the mean of squares. Default: 1e-6. */
  readonly epsilon?: number;
  /** Multiplies features by a parameter. Default: true. */
  readonly scale?: boolean;
}

function normLayer(
  kind: string,
  options: NormOptions,
  check: (features: number) => void,
  normalized: (x: Value) => Value,
): Model {
  const { scale = true, bias = true } = options;
  const own = (params: Params, name: string, x: Value): Value => {
    const value = parameter(kind, params, name);
    if (value.shape[0] !== x.shape.at(-1))
      throw layerError(
        kind,
        "SHAPE_MISMATCH",
        `the input ${shapeText(x.shape)} has ${x.shape.at(-1)} features, but ${name} is ${shapeText(value.shape)}`,
        `give inputs of ${value.shape[0]} features, or draw parameters for these`,
      );
    return value;
  };
  const featuresOf = (shape: readonly number[]): number => {
    const features = shape.at(-1);
    if (features === undefined)
      throw layerError(kind, "SHAPE_MISMATCH", "the input is one number, of shape []", "give it features");
    check(features);
    return features;
  };
  return {
    kind,
    init: (key, input, where) => {
      const shape = [featuresOf(shapeOf(kind, input))];
      const parts = {
        ...(scale ? { scale: { shape, init: ones } } : {}),
        ...(bias ? { bias: { shape, init: zeros } } : {}),
      };
      return drawParameters(key, parts, where);
    },
    apply: (params, x) => {
      featuresOf(x.shape);
      // 16-bit floats have too few digits for means and variances.
      const narrow = x.dtype === "f16" || x.dtype === "bf16";
      let y = normalized(narrow ? np.astype(x, "f32") : x);
      if (scale) y = np.multiply(y, own(params, "scale", x));
      if (bias) y = np.add(y, own(params, "bias", x));
      return narrow ? np.astype(y, x.dtype) : y;
    },
  };
}

const anyCount = (): void => undefined;

/** (x - mean) / sqrt(variance + epsilon) over these axes. */
function standardized(x: Value, axis: readonly number[], epsilon: number): Value {
  const apart = np.subtract(x, np.mean(x, { axis, keepdims: true }));
  const variance = np.mean(np.square(apart), { axis, keepdims: true });
  return np.multiply(apart, np.rsqrt(np.add(variance, epsilon)));
}

/**
 * Makes the features of each place (the last axis) have mean 0 and variance 1, then scales and shifts them. Parameters:
 * `scale` and `bias` [features].
 *
 * @example
 * ```ts
 * const block = nn.residual(nn.sequential([nn.layerNorm(), nn.dense(64), nn.gelu]));
 * ```
 */
export function layerNorm(options: NormOptions = {}): Model {
  checkOptions("layerNorm", options, { epsilon: row.notNegative, scale: row.flag, bias: row.flag });
  const epsilon = options.epsilon ?? 1e-5;
  return {
    ...normLayer("layerNorm", options, anyCount, (x) => standardized(x, [x.ndim - 1], epsilon)),
    ...recipeOf("layerNorm", options),
  };
}

/** Divides the features of each place by the root of their mean square, then scales them. Parameter: `scale`. */
export function rmsNorm(options: RmsNormOptions = {}): Model {
  checkOptions("rmsNorm", options, { epsilon: row.notNegative, scale: row.flag });
  const epsilon = options.epsilon ?? 1e-6;
  const layer = normLayer("rmsNorm", { ...options, bias: false }, anyCount, (x) => {
    const power = np.mean(np.square(x), { axis: -1, keepdims: true });
    return np.multiply(x, np.rsqrt(np.add(power, epsilon)));
  });
  return { ...layer, ...recipeOf("rmsNorm", options) };
}

/**
 * Like {@link layerNorm} over groups of channels, and over all places of an example: [batch, ..., channels]. Parameters:
 * `scale` and `bias` [channels].
 */
export function groupNorm(groups: number, options: NormOptions = {}): Model {
  checkSize("groupNorm", "groups", groups);
  checkOptions("groupNorm", options, { epsilon: row.notNegative, scale: row.flag, bias: row.flag });
  const epsilon = options.epsilon ?? 1e-5;
  const check = (channels: number): void => {
    if (channels % groups !== 0)
      throw layerError(
        "groupNorm",
        "SHAPE_MISMATCH",
        `the input has ${channels} channels, which do not make ${groups} groups`,
        "make the channels a multiple of groups",
      );
  };
  const layer = normLayer("groupNorm", options, check, (x) => {
    if (x.ndim < 2)
      throw layerError(
        "groupNorm",
        "SHAPE_MISMATCH",
        `the input is ${shapeText(x.shape)}`,
        "give inputs [batch, ..., channels]",
      );
    const channels = x.shape.at(-1) as number;
    const places = x.shape.slice(1, -1).reduce((a, b) => a * b, 1);
    const grouped = np.reshape(x, [x.shape[0] as number, places, groups, channels / groups]);
    return np.reshape(standardized(grouped, [1, 3], epsilon), x.shape);
  });
  return { ...layer, ...recipeOf("groupNorm", { groups, ...options }) };
}
