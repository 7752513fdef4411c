import { isFloat, np } from "../engine/index.ts";
import { type Initializer, normal } from "./initializers.ts";
import { drawParameters, layerError, parameter } from "./layer.ts";
import type { Model } from "./model.ts";
import { original } from "./moments.ts";
import { checkOptions, checkSize, row } from "./options.ts";
import { recipeOf } from "./recipe.ts";

/** Options of {@link embedding}. */
export interface EmbeddingOptions {
  /** Default: normal numbers, as in PyTorch. */
  readonly init?: Initializer;
}

/**
 * A vector for each whole number below `count`: [batch, ...] gives [batch, ..., width]. Parameter: `w` [count, width].
 * Negative numbers count from the end; what lies beyond takes the nearest row.
 *
 * @example
 * ```ts
 * const tokens = nn.embedding(256, 64);
 * const params = tokens.init(0, spec([32, 128], "i32"));
 * ```
 */
export function embedding(count: number, width: number, options: EmbeddingOptions = {}): Model {
  checkSize("embedding", "count", count);
  checkSize("embedding", "width", width);
  checkOptions("embedding", options, { init: row.initializer });
  const { init = normal() } = options;
  return {
    kind: "embedding",
    ...recipeOf("embedding", { count, width, ...options }),
    init: (key, _input, where) => drawParameters(key, { w: { shape: [count, width], init } }, where),
    apply: (params, x) => {
      const w = parameter("embedding", params, "w");
      if (isFloat(x.dtype) || x.dtype === "bool")
        throw layerError(
          "embedding",
          "DTYPE_MISMATCH",
          `the input is ${x.dtype}[${x.shape.join(",")}], but embeddings are looked up by whole numbers`,
          'put the input with dtype "i32", or convert it: x.astype("i32")',
        );
      // From the f32 rows, so that the gradients of one that occurs often are summed in f32.
      return np.take(original(w), x, { axis: 0 }).astype(w.dtype);
    },
  };
}
