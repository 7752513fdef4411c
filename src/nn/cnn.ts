import { option } from "../core/index.ts";
import { nn as functions } from "../engine/index.ts";
import { sequential } from "./combine.ts";
import { conv2d } from "./conv.ts";
import { dense } from "./dense.ts";
import type { Initializer } from "./initializers.ts";
import type { Layer, Model } from "./model.ts";
import { badOption, checkOptions, checkSize, checkSizes, row } from "./options.ts";
import { flatten, globalAvgPool, maxPool2d } from "./pool.ts";
import { recipeOf } from "./recipe.ts";

/** Options of {@link cnn}; what has one entry for each convolution may be one number for all. */
export interface CnnOptions {
  /** Output channels of each convolution. */
  readonly channels: readonly number[];
  /** Default: The window's length, 3. */
  readonly kernel?: number | readonly number[];
  /** Step of the windows. Default: 1. */
  readonly strides?: number | readonly number[];
  /** Default: `"valid"`. */
  readonly padding?: functions.PaddingOption;
  /** The window of a max pooling behind each activation. Default: none. */
  readonly pool?: number | readonly number[];
  /** Activation after each layer but the last. Default: relu. */
  readonly activation?: Layer;
  /** Turns images into features: all positions side by side (the default), or their mean. */
  readonly head?: "flatten" | "mean";
  /** The widths of dense layers behind the convolutions. Default: none. */
  readonly dense?: readonly number[];
  /** The width of the last layer. Default: none. */
  readonly out?: number;
  /** Weights of all layers. Default: those of {@link dense} and {@link conv2d}. */
  readonly init?: Initializer;
  /** Weights of the last layer. Default: `init`. */
  readonly outInit?: Initializer;
}

const cnnOptions = {
  channels: row.list,
  kernel: row.sizes,
  strides: row.sizes,
  padding: row.padding,
  pool: row.sizes,
  activation: row.layer,
  head: option.oneOf(["flatten", "mean"], {}),
  dense: row.list,
  out: row.size,
  init: row.initializer,
  outInit: row.initializer,
};

/**
 * Convolutions of images [batch, height, width, channels], then dense layers. Parameters: `conv0`, `conv1`, ...,
 * `dense0`, ... and `out`.
 *
 * @example
 * ```ts
 * const model = nn.cnn({ channels: [16, 32], pool: 2, dense: [64], out: 10 });
 * const params = model.init(0, spec([32, 28, 28, 1]));
 * ```
 */
export function cnn(options: CnnOptions): Model {
  checkOptions("cnn", options, cnnOptions);
  const { channels, padding = "valid", activation = functions.relu, out, init, outInit = init } = options;
  if (!Array.isArray(channels) || channels.length === 0)
    throw badOption("cnn", "there are no convolutions", "give channels: { channels: [16, 32] }");
  const { head = "flatten", dense: widths = [] } = options;
  if (head !== "flatten" && head !== "mean")
    throw badOption("cnn", `head cannot be ${JSON.stringify(head)}`, 'use "flatten" or "mean"');
  const n = channels.length;
  const kernel = checkSizes("cnn", "kernel", options.kernel ?? 3, n);
  const strides = checkSizes("cnn", "strides", options.strides ?? 1, n);
  const pool = options.pool === undefined ? undefined : checkSizes("cnn", "pool", options.pool, n);
  const layers: Record<string, Layer> = {};
  const weights = init ? { init } : {};
  channels.forEach((count, i) => {
    const filters = checkSize("cnn", `channels[${i}]`, count);
    const [window, stride, pooled] = [kernel[i] as number, strides[i] as number, pool?.[i] ?? 1];
    layers[`conv${i}`] = conv2d(filters, window, { strides: stride, padding, ...weights });
    layers[`convActivation${i}`] = activation;
    if (pooled > 1) layers[`pool${i}`] = maxPool2d(pooled);
  });
  layers[head] = head === "flatten" ? flatten() : globalAvgPool();
  widths.forEach((width, i) => {
    layers[`dense${i}`] = dense(checkSize("cnn", `dense[${i}]`, width), weights);
    layers[`denseActivation${i}`] = activation;
  });
  if (out !== undefined) layers.out = dense(checkSize("cnn", "out", out), outInit ? { init: outInit } : {});
  return { ...sequential(layers), kind: "cnn", ...recipeOf("cnn", options) };
}
