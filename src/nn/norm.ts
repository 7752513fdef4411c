import { np, stopGradient, type Value } from "../engine/index.ts";
import { ones, zeros } from "./initializers.ts";
import { drawParameters, layerError, parameter, shapeOf, shapeText } from "./layer.ts";
import type { Model, Params } from "./model.ts";
import { original } from "./moments.ts";
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
    return original(value);
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

/** Options of {@link batchNorm}. */
export interface BatchNormOptions extends NormOptions {
  /** The part of a batch's moments in the running ones after it. Default: 0.1. */
  readonly momentum?: number;
}

/**
 * Makes each feature (the last axis) have mean 0 and variance 1 over the batch and all places, then scales and shifts
 * it, as PyTorch's `BatchNorm1d` and `BatchNorm2d`. In training it takes the batch's own moments and moves the running
 * ones towards them; otherwise it takes the running ones. Parameters: `scale`, `bias`, `mean` and `variance` [features];
 * the last two are the running moments, which no gradient moves.
 *
 * @example
 * ```ts
 * const block = nn.sequential([nn.conv2d(32, 3, { bias: false }), nn.batchNorm(), nn.relu]);
 * ```
 */
export function batchNorm(options: BatchNormOptions = {}): Model {
  const rows = { epsilon: row.notNegative, scale: row.flag, bias: row.flag, momentum: row.share };
  checkOptions("batchNorm", options, rows);
  const { epsilon = 1e-5, momentum = 0.1, scale = true, bias = true } = options;
  const kind = "batchNorm";
  return {
    kind,
    ...recipeOf(kind, options),
    init: (key, input, where) => {
      const shape = shapeOf(kind, input).slice(-1);
      if (shapeOf(kind, input).length < 2)
        throw layerError(
          kind,
          "SHAPE_MISMATCH",
          `the input is ${shapeText(shape)}`,
          "give [batch, ..., features]",
        );
      const parts = {
        ...(scale ? { scale: { shape, init: ones } } : {}),
        ...(bias ? { bias: { shape, init: zeros } } : {}),
        mean: { shape, init: zeros },
        variance: { shape, init: ones },
      };
      return drawParameters(key, parts, where);
    },
    apply: (params, given, { train = false, moments } = {}) => {
      const own = (name: string): Value => original(parameter(kind, params, name));
      // 16-bit floats have too few digits for means and variances.
      const x = given.dtype === "f16" || given.dtype === "bf16" ? given.astype("f32") : given;
      let [mean, variance] = [own("mean"), own("variance")];
      if (x.shape.at(-1) !== mean.shape[0])
        throw layerError(
          kind,
          "SHAPE_MISMATCH",
          `the input ${shapeText(x.shape)} has ${x.shape.at(-1)} features, but mean is ${shapeText(mean.shape)}`,
          `give inputs of ${mean.shape[0]} features, or draw parameters for these`,
        );
      if (train) {
        const axis = x.shape.slice(0, -1).map((_, i) => i);
        const count = x.size / (mean.shape[0] as number);
        if (moments === undefined) throw momentsMissing();
        if (count < 2) throw tooFew();
        const [running, spread] = [moments.get(mean), moments.get(variance)];
        const towards = (now: Value, next: Value): Value =>
          np.add(np.multiply(now, 1 - momentum), np.multiply(stopGradient(next), momentum));
        const [before, apart] = [mean, variance];
        mean = np.mean(x, { axis });
        variance = np.mean(np.square(np.subtract(x, mean)), { axis });
        moments.set(before, towards(running, mean));
        moments.set(apart, towards(spread, np.multiply(variance, count / (count - 1))));
      }
      let y = np.multiply(np.subtract(x, mean), np.rsqrt(np.add(variance, epsilon)));
      if (scale) y = np.multiply(y, own("scale"));
      if (bias) y = np.add(y, own("bias"));
      return np.astype(y, given.dtype);
    },
  };
}

const momentsMissing = () =>
  layerError(
    "batchNorm",
    "MOMENTS_MISSING",
    "it moves its running mean and variance while training, and there is nothing to take them",
    "apply the model with { train: true, moments: new nn.Moments() } and merge them into the parameters after the step; supervisedTask does so",
  );

const tooFew = () =>
  layerError(
    "batchNorm",
    "SHAPE_MISMATCH",
    "the batch has one value for each feature, which has no variance",
    'train on batches of two examples or more; lastBatch: "drop" leaves out a smaller one',
  );
