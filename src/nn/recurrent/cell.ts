import { isPlainObject } from "../../core/index.ts";
import { nn, np, type Shape, type Spec, type Tensor, type Value } from "../../engine/index.ts";
import { type Initializer, orthogonal, xavierUniform, zeros } from "../initializers.ts";
import {
  childKey,
  childParams,
  drawParameters,
  layerError,
  parameter,
  shapeOf,
  shapeText,
} from "../layer.ts";
import type { InitKey, InitOptions, Model, Params } from "../model.ts";
import { checkOptions, checkSize, row } from "../options.ts";

/** State of a recurrent layer: values [batch, width] by name. */
export type CellState = { readonly [name: string]: Value };

/** Default: What a cell takes: one step's input [batch, features] and the state before it, zeros. */
export interface CellInput<S extends CellState> {
  readonly x: Value;
  readonly state?: S;
}

/** One step of a recurrent layer: gives the next state, whose `h` is the output. */
export interface Cell<S extends CellState> extends Model<CellInput<S>, S> {
  readonly width: number;
  /** Zeros, as values inside a compiled function. */
  initialState(batch: number): S;
}

/** Options of cells. */
export interface CellOptions {
  /** Adds biases. Default: true. */
  readonly bias?: boolean;
  /** Weights of the input. Default: Glorot's uniform ones, gate by gate,. */
  readonly init?: Initializer;
  /** Weights of the state. Default: orthogonal, gate by gate,. */
  readonly hiddenInit?: Initializer;
  /** Both biases. Default: zeros. */
  readonly biasInit?: Initializer;
}

/** A kind of cell in parts, so that what needs no state can be computed for all steps at once. */
export interface CellParts<S extends CellState> {
  readonly kind: string;
  readonly width: number;
  /** Number of gates, side by side in this order in every weight. */
  readonly gates: number;
  /** The names of its state. */
  readonly states: readonly (keyof S & string)[];
  /** Added to the first numbers of a gate's bias, `input.b`. */
  readonly biasStart?: { readonly gate: number; readonly value: number };
  /** Projects the input to the gates: [..., features] to [..., gates * width]. */
  readonly project: (params: Params, x: Value) => Value;
  /** The next state, from what the input gives. */
  readonly next: (params: Params, projected: Value, state: S) => S;
}

export const cellOptions = {
  bias: row.flag,
  init: row.initializer,
  hiddenInit: row.initializer,
  biasInit: row.initializer,
};

/** Draws each gate's part by itself: what keeps signals at their size for one gate does not for several side by side. */
const perGate =
  (init: Initializer, gates: number): Initializer =>
  (key, [rows = 1, columns = 1]) => {
    const width = columns / gates;
    const parts = Array.from({ length: gates }, (_, g) => init(childKey(key, `gate${g}`), [rows, width]));
    const numbers = new Float32Array(rows * columns);
    for (let r = 0; r < rows; r++)
      parts.forEach((part, g) => {
        numbers.set(part.subarray(r * width, (r + 1) * width), r * columns + g * width);
      });
    return numbers;
  };

/** Draws a cell's parameters for inputs of so many features: `input.w`, `input.b`, `hidden.w`, `hidden.b`. */
export function drawCell<S extends CellState>(
  { width, gates, biasStart }: CellParts<S>,
  options: CellOptions,
  key: InitKey,
  features: number,
  where: InitOptions | undefined,
): Params<Tensor> {
  const { bias = true, init = xavierUniform(), hiddenInit = orthogonal(), biasInit = zeros } = options;
  const raised: Initializer = (seed, shape) => {
    const numbers = Float32Array.from(biasInit(seed, shape));
    const { gate, value } = biasStart ?? { gate: 0, value: 0 };
    for (let i = gate * width; i < (gate + 1) * width; i++) numbers[i] = (numbers[i] as number) + value;
    return numbers;
  };
  const part = (name: string, rows: number, weights: Initializer, biases: Initializer) =>
    drawParameters(
      childKey(key, name),
      {
        w: { shape: [rows, gates * width], init: perGate(weights, gates) },
        ...(bias ? { b: { shape: [gates * width], init: biases } } : {}),
      },
      where,
    );
  return {
    input: part("input", features, init, raised),
    hidden: part("hidden", width, hiddenInit, biasInit),
  };
}

/** `x @ w + b` with the parameters `name`, over the last axis as one plain product. */
export function affine(kind: string, params: Params, name: string, x: Value): Value {
  const own = childParams(params, name);
  const w = parameter(kind, own, "w");
  if (x.shape.at(-1) !== w.shape[0])
    throw layerError(
      kind,
      "SHAPE_MISMATCH",
      `the ${name} ${shapeText(x.shape)} has ${x.shape.at(-1)} features, but ${name}.w is ${shapeText(w.shape)}`,
      `give ${w.shape[0]} features, or draw parameters for these`,
    );
  const rows = np.matmul(np.reshape(x, [-1, w.shape[0] as number]), w);
  const biased = own.b === undefined ? rows : np.add(rows, parameter(kind, own, "b"));
  return np.reshape(biased, [...x.shape.slice(0, -1), w.shape[1] as number]);
}

/** Zeros for every name of a cell's state. */
export function zeroState<S extends CellState>({ states, width }: CellParts<S>, batch: number): S {
  const rows = checkSize("initialState", "the batch", batch);
  return Object.fromEntries(states.map((name) => [name, np.zeros([rows, width])])) as S;
}

/** A state that was given, or zeros. */
export function stateOr<S extends CellState>(
  parts: CellParts<S>,
  kind: string,
  given: S | undefined,
  batch: number,
): S {
  if (given === undefined) return zeroState(parts, batch);
  const wanted: Shape = [batch, parts.width];
  for (const name of parts.states) {
    const value: unknown = isPlainObject(given) ? given[name] : undefined;
    const shape = (value as Value | undefined)?.shape;
    if (!shape || shapeText(shape) !== shapeText(wanted))
      throw layerError(
        kind,
        "SHAPE_MISMATCH",
        `the state's ${name} is ${shape ? shapeText(shape) : "missing"}, but should be ${shapeText(wanted)}`,
        "pass the state that the step before gave, or initialState(batch)",
      );
  }
  return given;
}

/** A cell as a model of one step. */
export function cellOf<S extends CellState>(parts: CellParts<S>, options: CellOptions): Cell<S> {
  const { kind, width } = parts;
  return {
    kind,
    width,
    init: (key, input, where) => {
      const [, features, ...rest] = shapeOf(kind, (input as { readonly x: Spec } | undefined)?.x as Spec);
      if (features === undefined || rest.length > 0)
        throw rankError(kind, shapeOf(kind, input.x), "[batch, features]");
      return drawCell(parts, options, key, features, where);
    },
    apply: (params, { x, state }) => {
      if (x.ndim !== 2) throw rankError(kind, x.shape, "[batch, features]");
      const before = stateOr(parts, kind, state, x.shape[0] as number);
      return parts.next(params, parts.project(params, x), before);
    },
    initialState: (batch) => zeroState(parts, batch),
  };
}

export const rankError = (kind: string, shape: Shape, wanted: string) =>
  layerError(
    kind,
    "SHAPE_MISMATCH",
    `the input is ${shapeText(shape)}, but it takes ${wanted}`,
    `give inputs ${wanted}`,
  );

/** State of a GRU: its output [batch, width]. */
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
 * `input.b` and `hidden.b` `[3 * width]`: PyTorch's `weight_ih`, `weight_hh` (both transposed), `bias_ih`, `bias_hh`.
 *
 * @example
 * ```ts
 * const cell = nn.gruCell(64);
 * const params = cell.init(0, { x: spec([32, 8]) });
 * const { h } = cell.apply(params, { x, state }); // inside compile
 * ```
 */
export function gruCell(width: number, options: CellOptions = {}): Cell<GruState> {
  checkOptions("gruCell", options, cellOptions);
  return cellOf(gruParts("gruCell", width), options);
}

/** State of an LSTM: its output and its memory, both [batch, width]. */
export type LstmState = { readonly h: Value; readonly c: Value };

/** Options of {@link lstmCell}. */
export interface LstmCellOptions extends CellOptions {
  /**
   * Initial bias of the forget gate. Default: 1. The larger, the longer it remembers before it has
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
  biasStart: { gate: 1, value: forgetBias },
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
 * `input.b` and `hidden.b` `[4 * width]`: PyTorch's `weight_ih`, `weight_hh` (both transposed), `bias_ih`, `bias_hh`.
 *
 * @example
 * ```ts
 * const cell = nn.lstmCell(64);
 * const params = cell.init(0, { x: spec([32, 8]) });
 * const next = cell.apply(params, { x, state }); // { h, c }, inside compile
 * ```
 */
export function lstmCell(width: number, options: LstmCellOptions = {}): Cell<LstmState> {
  checkOptions("lstmCell", options, { ...cellOptions, forgetBias: row.finite });
  const { forgetBias, ...rest } = options;
  return cellOf(lstmParts("lstmCell", width, forgetBias), rest);
}
