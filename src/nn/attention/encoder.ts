import { option } from "../../core/index.ts";
import { type Spec, type Tensor, Value } from "../../engine/index.ts";
import { childKey, childOptions, childParams, inLayer, layerError, shapeOf, shapeText } from "../layer.ts";
import type { Model, Params } from "../model.ts";
import { checkOptions, checkSize, row } from "../options.ts";
import { recipeOf } from "../recipe.ts";

import { type BlockOptions, block, blockOptions, normOf } from "./block.ts";

/** Options of {@link transformerEncoder}. */
export interface EncoderOptions extends BlockOptions {
  /** Number of blocks. */
  readonly layers: number;
  /** Lets positions attend only to earlier ones. Default: false. */
  readonly causal?: boolean;
  /** Rotary positions; without them, and without positions in the input, order does not matter. */
  readonly rotary?: boolean;
  /** Norms before each part, or after what it adds, as in BERT and the first transformers. Default: `before`. */
  readonly norms?: "before" | "after";
  /** Adds a norm at the end. Default: true. */
  readonly finalNorm?: boolean;
}

/** Vectors, and which of them may be seen. */
export interface EncoderInput {
  /** [batch, time, width] */
  readonly x: Value;
  /** Booleans that repeat to [batch, heads, time, time]: true where a place may see another. */
  readonly mask?: Value;
}

/**
 * A transformer's blocks over vectors: [batch, time, width] to the same shape. Parameters: `block0`, `block1`, ... and
 * `norm`. A block is PyTorch's `TransformerEncoderLayer` with `norm_first`, or without where norms come after.
 *
 * @example
 * ```ts
 * const encoder = nn.transformerEncoder({ width: 64, layers: 2, heads: 4 });
 * const y = encoder.apply(params, { x, mask: np.slice(known, ":", null, null) }); // known: bool [batch, time]
 * ```
 */
export function transformerEncoder(options: EncoderOptions): Model<Value | EncoderInput, Value> {
  const kind = "transformerEncoder";
  checkOptions(kind, options, {
    ...blockOptions,
    layers: row.size,
    causal: row.flag,
    rotary: row.flag,
    norms: option.oneOf(["before", "after"], {}),
    finalNorm: row.flag,
  });
  const { causal = false, rotary = false, finalNorm = true } = options;
  const width = checkSize(kind, "width", options.width);
  const names = Array.from({ length: checkSize(kind, "layers", options.layers) }, (_, i) => `block${i}`);
  const part = block(kind, options, { causal, rotary }, options.norms === "after");
  const norm = normOf(kind, options);
  const checked = (shape: readonly number[]): void => {
    if (shape.length === 3 && shape[2] === width) return;
    throw layerError(
      kind,
      "SHAPE_MISMATCH",
      `the input is ${shapeText(shape)}, but it takes [batch, time, ${width}]`,
      `bring inputs to the width first: dense(${width})`,
    );
  };
  return {
    kind,
    ...recipeOf(kind, options),
    layers: { ...Object.fromEntries(names.map((name) => [name, part])), ...(finalNorm ? { norm } : {}) },
    init: (key, input, where) => {
      const x = "x" in input ? input.x : (input as Spec);
      checked(shapeOf(kind, x));
      const drawn = [...names.map((name) => [name, part] as const), ["norm", norm] as const]
        .slice(0, finalNorm ? undefined : -1)
        .map(([name, layer]): [string, Params<Tensor>] => [
          name,
          inLayer(name, () => layer.init(childKey(key, name), x, where)),
        ]);
      return Object.fromEntries(drawn);
    },
    apply: (params, input, told = {}) => {
      const { x, mask }: EncoderInput = input instanceof Value ? { x: input } : input;
      checked(x.shape);
      const y = names.reduce(
        (now, name, i) =>
          inLayer(name, () => part.applyMasked(childParams(params, name), now, mask, childOptions(told, i))),
        x,
      );
      return finalNorm ? inLayer("norm", () => norm.apply(childParams(params, "norm"), y)) : y;
    },
  };
}
