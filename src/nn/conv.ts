import { nn as functions, np, type Shape, type Value } from "../engine/index.ts";
import { defaultBias, defaultInit } from "./dense.ts";
import { fansOf, type Initializer } from "./initializers.ts";
import { drawParameters, layerError, parameter, shapeOf, shapeText } from "./layer.ts";
import type { Model } from "./model.ts";
import { badOption, checkOptions, checkSize, checkSizes, row } from "./options.ts";
import { recipeOf } from "./recipe.ts";

/** Options of {@link conv1d} and {@link conv2d}; what has one entry for each axis may be one number for all. */
export interface ConvLayerOptions {
  /** Step of the window. Default: 1. */
  readonly strides?: number | readonly number[];
  /** `"valid"` (the default), `"same"`, a number for every side, or pairs `[low, high]`. */
  readonly padding?: functions.PaddingOption;
  /** The distance between the window's elements. Default: 1. */
  readonly dilation?: number | readonly number[];
  /** Groups of channels that do not see each other. Default: 1. */
  readonly groups?: number;
  /** Adds a bias. Default: true. */
  readonly bias?: boolean;
  /** Default: PyTorch's, uniform between -1 and 1 divided by the root of the number of inputs. */
  readonly init?: Initializer;
  readonly biasInit?: Initializer;
}

const convOptions = {
  strides: row.sizes,
  padding: row.padding,
  dilation: row.sizes,
  groups: row.size,
  bias: row.flag,
  init: row.initializer,
  biasInit: row.initializer,
};
const layouts = ["[batch, length, channels]", "[batch, height, width, channels]"];

function convLayer(
  kind: string,
  axes: number,
  filters: number,
  window: number | readonly number[],
  options: ConvLayerOptions,
): Model {
  checkSize(kind, "filters", filters);
  const lengths = checkSizes(kind, "window", window, axes);
  checkOptions(kind, options, convOptions);
  const { bias = true, init = defaultInit, biasInit } = options;
  const strides = checkSizes(kind, "strides", options.strides ?? 1, axes);
  const dilation = checkSizes(kind, "dilation", options.dilation ?? 1, axes);
  const groups = checkSize(kind, "groups", options.groups ?? 1);
  if (filters % groups !== 0)
    throw badOption(
      kind,
      `${filters} filters do not make ${groups} groups`,
      "make filters a multiple of groups",
    );
  const given = { strides, dilation, groups, padding: options.padding ?? "valid" } as const;

  const channelsOf = (shape: Shape): number => {
    const channels = shape.at(-1) as number;
    if (shape.length !== axes + 2)
      throw layerError(
        kind,
        "SHAPE_MISMATCH",
        `the input is ${shapeText(shape)}, which has ${shape.length} axes instead of ${axes + 2}`,
        `give inputs ${layouts[axes - 1]}`,
      );
    if (channels % groups !== 0)
      throw layerError(
        kind,
        "SHAPE_MISMATCH",
        `the input ${shapeText(shape)} has ${channels} channels, which do not make ${groups} groups`,
        "make the channels a multiple of groups",
      );
    return channels;
  };

  return {
    kind,
    ...recipeOf(kind, { filters, window, ...options }),
    init: (key, input, where) => {
      const shape = [...lengths, channelsOf(shapeOf(kind, input)) / groups, filters];
      const b = { shape: [filters], init: biasInit ?? defaultBias(fansOf(kind, shape).fanIn) };
      return drawParameters(key, { w: { shape, init }, ...(bias ? { b } : {}) }, where);
    },
    apply: (params, x: Value) => {
      const w = parameter(kind, params, "w");
      const channels = channelsOf(x.shape);
      if (channels !== (w.shape.at(-2) as number) * groups)
        throw layerError(
          kind,
          "SHAPE_MISMATCH",
          `the input ${shapeText(x.shape)} has ${channels} channels, but w is ${shapeText(w.shape)}`,
          `give inputs of ${(w.shape.at(-2) as number) * groups} channels, channels last`,
        );
      const y = functions.conv(x, w, given);
      return bias ? np.add(y, parameter(kind, params, "b")) : y;
    },
  };
}

/**
 * Convolution along one axis: [batch, length, channels]. Parameters: `w` [window, in / groups, filters] and `b`
 * [filters].
 *
 * @example
 * ```ts
 * const layer = nn.conv1d(32, 3, { padding: "same" });
 * ```
 */
export const conv1d = (
  filters: number,
  window: number | readonly number[],
  options: ConvLayerOptions = {},
): Model => convLayer("conv1d", 1, filters, window, options);

/**
 * Convolution of images: [batch, height, width, channels]. Parameters: `w` [height, width, in / groups, filters] and
 * `b` [filters].
 *
 * @example
 * ```ts
 * const layer = nn.conv2d(32, 3, { strides: 2, padding: "same" });
 * ```
 */
export const conv2d = (
  filters: number,
  window: number | readonly number[],
  options: ConvLayerOptions = {},
): Model => convLayer("conv2d", 2, filters, window, options);
