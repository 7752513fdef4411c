import { nn, np, type Value } from "../../engine/index.ts";
import { checkNumber, checkOptions, checkSize } from "../options.ts";
import { childParams, parameter } from "../parameters.ts";
import { affine, type Cell, type CellOptions, type CellParts, cellOf, cellOptionNames } from "./cell.ts";

/** What an LSTM remembers: its output and its memory, both [batch, width]. */
export type LstmState = { readonly h: Value; readonly c: Value };

/** Options of {@link lstmCell}. */
export interface LstmCellOptions extends CellOptions {
  /**
   * What the biases of the forget gate start with; 1 unless told. The larger, the longer it remembers before it has
   * learned what: about log(steps).
   */
  readonly forgetBias?: number;
}

/** An LSTM's step in parts; gates in PyTorch's order: input, forget, candidate, output. */
export const lstmParts = (kind: string, width: number, forgetBias = 1): CellParts<LstmState> => ({
  kind,
  width: checkSize(kind, "the width", width),
  gates: 4,
  states: ["h", "c"],
  biasStart: { gate: 1, value: checkNumber(kind, "forgetBias", forgetBias) },
  // Both biases are added here, outside the loop.
  project: (params, x) => {
    const rows = affine(kind, params, "input", x);
    const hidden = childParams(params, "hidden");
    return hidden.b === undefined ? rows : np.add(rows, parameter(kind, hidden, "b"));
  },
  next: (params, projected, { h, c }) => {
    const gates = np.add(projected, np.matmul(h, parameter(kind, childParams(params, "hidden"), "w")));
    const [input, forget, candidate, output] = np.split(gates, 4, { axis: 1 });
    const kept = np.multiply(nn.sigmoid(forget), c);
    const memory = np.add(kept, np.multiply(nn.sigmoid(input), np.tanh(candidate)));
    return { h: np.multiply(nn.sigmoid(output), np.tanh(memory)), c: memory };
  },
});

/**
 * One step of an LSTM, with PyTorch's formulas. Parameters: `input.w` [in, 4 * width], `hidden.w` [width, 4 * width],
 * `input.b` and `hidden.b` [4 * width]: PyTorch's `weight_ih`, `weight_hh` (both transposed), `bias_ih`, `bias_hh`.
 *
 * @example
 * ```ts
 * const cell = nn.lstmCell(64);
 * const params = cell.init(0, { x: spec([32, 8]) });
 * const next = cell.apply(params, { x, state }); // { h, c }, inside compile
 * ```
 */
export function lstmCell(width: number, options: LstmCellOptions = {}): Cell<LstmState> {
  checkOptions("lstmCell", options, [...cellOptionNames, "forgetBias"]);
  const { forgetBias, ...rest } = options;
  return cellOf(lstmParts("lstmCell", width, forgetBias), rest);
}
