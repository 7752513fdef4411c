import type { Option } from "../core/index.ts";
import { nn as functions, np, type Value } from "../engine/index.ts";
import { layerError, shapeText } from "./layer.ts";
import type { Model } from "./model.ts";
import { checkOptions, checkSizes, row } from "./options.ts";
import { recipeOf } from "./recipe.ts";

/** Options of pooling layers; what has one entry for each axis may be one number for all. */
export interface PoolLayerOptions {
  /** Step of the window. Default: its own size. */
  readonly strides?: number | readonly number[];
  /** `"valid"` (the default), `"same"`, a number for every side, or pairs `[low, high]`. */
  readonly padding?: functions.PaddingOption;
}

/** Options of {@link avgPool1d} and {@link avgPool2d}. */
export interface AvgPoolLayerOptions extends PoolLayerOptions {
  /** Counts padding as zeros in the mean. Default: true, as in PyTorch. */
  readonly countIncludePad?: boolean;
}

/** A layer without parameters. */
const fixed = (kind: string, options: object, apply: (x: Value) => Value): Model => ({
  kind,
  ...recipeOf(kind, options),
  init: () => ({}),
  apply: (_params, x) => apply(x),
});

const poolOptions = { strides: row.sizes, padding: row.padding };

const layouts = ["[batch, length, channels]", "[batch, height, width, channels]"];

function poolLayer<O extends PoolLayerOptions>(
  kind: string,
  axes: number,
  window: number | readonly number[],
  options: O,
  table: Readonly<Record<string, Option>>,
  pool: (x: Value, options: O & functions.PoolOptions) => Value,
): Model {
  checkOptions(kind, options, table);
  const sizes = checkSizes(kind, "window", window, axes);
  const strides = checkSizes(kind, "strides", options.strides ?? sizes, axes);
  return fixed(kind, { window, ...options }, (x) => {
    if (x.ndim !== axes + 2)
      throw layerError(
        kind,
        "SHAPE_MISMATCH",
        `the input is ${shapeText(x.shape)}, which has ${x.ndim} axes instead of ${axes + 2}`,
        `give inputs ${layouts[axes - 1]}`,
      );
    return pool(x, { ...options, window: sizes, strides });
  });
}

const maxPoolLayer =
  (kind: string, axes: number) =>
  (window: number | readonly number[], options: PoolLayerOptions = {}): Model =>
    poolLayer(kind, axes, window, options, poolOptions, functions.maxPool);

const avgPoolLayer =
  (kind: string, axes: number) =>
  (window: number | readonly number[], options: AvgPoolLayerOptions = {}): Model =>
    poolLayer(kind, axes, window, options, { ...poolOptions, countIncludePad: row.flag }, functions.avgPool);

/** The largest element of each window along one axis: [batch, length, channels]. */
export const maxPool1d = maxPoolLayer("maxPool1d", 1);
/**
 * The largest element of each window of images [batch, height, width, channels].
 *
 * @example
 * ```ts
 * const half = nn.maxPool2d(2);
 * ```
 */
export const maxPool2d = maxPoolLayer("maxPool2d", 2);
/** The mean of each window along one axis: [batch, length, channels]. */
export const avgPool1d = avgPoolLayer("avgPool1d", 1);
/** The mean of each window of images [batch, height, width, channels]. */
export const avgPool2d = avgPoolLayer("avgPool2d", 2);

/** The mean over all axes between the first and the last: [batch, ..., channels] gives [batch, channels]. */
export function globalAvgPool(): Model {
  return fixed("globalAvgPool", {}, (x) => {
    if (x.ndim < 3)
      throw layerError(
        "globalAvgPool",
        "SHAPE_MISMATCH",
        `the input is ${shapeText(x.shape)}, which has nothing between its first and last axis`,
        "give inputs [batch, ..., channels]",
      );
    return np.mean(x, { axis: x.shape.slice(1, -1).map((_, i) => i + 1) });
  });
}

/** All axes behind the first as one: [batch, ...] gives [batch, features]. */
export function flatten(): Model {
  return fixed("flatten", {}, (x) => {
    if (x.ndim === 0)
      throw layerError(
        "flatten",
        "SHAPE_MISMATCH",
        "the input is one number, of shape []",
        "give it a batch axis",
      );
    return np.reshape(x, [x.shape[0] as number, x.shape.slice(1).reduce((a, b) => a * b, 1)]);
  });
}
