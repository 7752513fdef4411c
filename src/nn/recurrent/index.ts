import { checkOptions, row } from "../options.ts";
import { recipeOf } from "../recipe.ts";
import { type GruState, gruParts, type LstmCellOptions, type LstmState, lstmParts } from "./cell.ts";

import { overTime, type Recurrent, type RecurrentOptions, recurrentOptions } from "./over-time.ts";

export {
  type Cell,
  type CellInput,
  type CellOptions,
  type CellState,
  type GruState,
  gruCell,
  type LstmCellOptions,
  type LstmState,
  lstmCell,
} from "./cell.ts";
export type { Recurrent, RecurrentOptions, SequenceInput, SequenceOutput } from "./over-time.ts";

/**
 * A GRU over sequences, by one loop for each layer. Parameters: those of {@link gruCell} under `layer0`, `layer1`, ...
 *
 * @example
 * ```ts
 * const memory = nn.gru(64);
 * const params = memory.init(0, spec([32, 100, 8]));
 * const { y, state } = memory.unroll(params, { x, state: before, reset: done }); // inside compile
 * ```
 */
export function gru(width: number, options: RecurrentOptions = {}): Recurrent<GruState> {
  checkOptions("gru", options, recurrentOptions);
  return { ...overTime(gruParts("gru", width), options), ...recipeOf("gru", { width, ...options }) };
}

/** Options of {@link lstm}. */
export interface LstmOptions extends RecurrentOptions, LstmCellOptions {}

/**
 * An LSTM over sequences, by one loop for each layer. Parameters: those of {@link lstmCell} under `layer0`,
 * `layer1`, ...
 *
 * @example
 * ```ts
 * const model = nn.sequential([nn.lstm(64, { layers: 2 }), nn.dense(10)]); // [batch, time, features] to [batch, time, 10]
 * ```
 */
export function lstm(width: number, options: LstmOptions = {}): Recurrent<LstmState> {
  checkOptions("lstm", options, { ...recurrentOptions, forgetBias: row.finite });
  const { forgetBias, ...rest } = options;
  return {
    ...overTime(lstmParts("lstm", width, forgetBias), rest),
    ...recipeOf("lstm", { width, ...options }),
  };
}
