import { nn, np, type Value } from "../../engine/index.ts";
import { checkOptions, checkSize } from "../options.ts";
import { affine, type Cell, type CellOptions, type CellParts, cellOf, cellOptionNames } from "./cell.ts";

/** What a GRU remembers: its output [batch, width]. */
export type GruState = { readonly h: Value };

/** A GRU's step in parts; gates in PyTorch's order: reset, update, candidate. */
export const gruParts = (kind: string, width: number): CellParts<GruState> => ({
  kind,
  width: checkSize(kind, "the width", width),
  gates: 3,
  states: ["h"],
  project: (params, x) => affine(kind, params, "input", x),
  next: (params, projected, { h }) => {
    const [resetX, updateX, candidateX] = np.split(projected, 3, { axis: 1 });
    const [resetH, updateH, candidateH] = np.split(affine(kind, params, "hidden", h), 3, { axis: 1 });
    const reset = nn.sigmoid(np.add(resetX, resetH));
    const update = nn.sigmoid(np.add(updateX, updateH));
    const candidate = np.tanh(np.add(candidateX, np.multiply(reset, candidateH)));
    return { h: np.add(candidate, np.multiply(update, np.subtract(h, candidate))) };
  },
});

/**
 * One step of a GRU, with PyTorch's formulas. Parameters: `input.w` [in, 3 * width], `hidden.w` [width, 3 * width],
 * `input.b` and `hidden.b` [3 * width]: PyTorch's `weight_ih`, `weight_hh` (both transposed), `bias_ih`, `bias_hh`.
 *
 * @example
 * ```ts
 * const cell = nn.gruCell(64);
 * const params = cell.init(0, { x: spec([32, 8]) });
 * const { h } = cell.apply(params, { x, state }); // inside compile
 * ```
 */
export function gruCell(width: number, options: CellOptions = {}): Cell<GruState> {
  checkOptions("gruCell", options, cellOptionNames);
  return cellOf(gruParts("gruCell", width), options);
}
