import { np, random, type Shape, scan, type Tensor, type Value } from "../../engine/index.ts";
import { dropout } from "../dropout.ts";
import { childKey, childParams, inLayer, layerError, shapeOf, shapeText } from "../layer.ts";
import type { ApplyOptions, Model, Params } from "../model.ts";
import { checkSize, row } from "../options.ts";

import {
  type CellOptions,
  type CellParts,
  type CellState,
  cellOf,
  cellOptions,
  drawCell,
  rankError,
  stateOr,
  zeroState,
} from "./cell.ts";

/** Options of {@link gru} and {@link lstm}. */
export interface RecurrentOptions extends CellOptions {
  /** Number of stacked layers. Default: 1. */
  readonly layers?: number;
  /** While training, drops so much of what one layer gives to the next. */
  readonly dropout?: number;
}

/** A sequence, what is remembered from before it, and where it starts anew. */
export interface SequenceInput<S extends CellState> {
  /** [batch, time, features]; for one step [batch, features]. */
  readonly x: Value;
  /** A state for each layer. Default: zeros. */
  readonly state?: readonly S[];
  /** Booleans [batch, time] (for one step [batch]): true where the state is set to zeros before that step. */
  readonly reset?: Value;
}

/** Output of the last layer, and every layer's state after it. */
export interface SequenceOutput<S extends CellState> {
  /** [batch, time, width]; for one step [batch, width]. */
  readonly y: Value;
  readonly state: readonly S[];
}

/**
 * A recurrent model. As a plain model it goes over a sequence from zeros: [batch, time, features] to
 * [batch, time, width]; `unroll` also takes and gives the state, and `step` does one step.
 */
export interface Recurrent<S extends CellState> extends Model {
  readonly width: number;
  /** Zeros for each layer, as values inside a compiled function. */
  initialState(batch: number): readonly S[];
  unroll(params: Params, input: SequenceInput<S>, options?: ApplyOptions): SequenceOutput<S>;
  step(params: Params, input: SequenceInput<S>, options?: ApplyOptions): SequenceOutput<S>;
}

export const recurrentOptions = { ...cellOptions, layers: row.size, dropout: row.share };

const sequenceAxes = "[batch, time, features]";

/** Layers of cells over time. Inputs go through each layer's product for all steps at once, before its loop. */
export function overTime<S extends CellState>(parts: CellParts<S>, options: RecurrentOptions): Recurrent<S> {
  const { kind, width } = parts;
  const { layers: count = 1, dropout: rate = 0, ...cellOptions } = options;
  checkSize(kind, "layers", count);
  const names = Array.from({ length: count }, (_, i) => `layer${i}`);
  const drop = dropout(rate);
  const cell = cellOf({ ...parts, kind: `${kind}Cell` }, cellOptions);

  const eachLayer = (
    params: Params,
    x: Value,
    batch: number,
    states: readonly S[] | undefined,
    { key, ...rest }: ApplyOptions,
    run: (own: Params, x: Value, state: S) => readonly [Value, S],
  ): readonly [Value, readonly S[]] => {
    if (states !== undefined && states.length !== count)
      throw layerError(
        kind,
        "SHAPE_MISMATCH",
        `${states.length} states were given for ${count} layers`,
        "pass what initialState or the step before gave",
      );
    let y = x;
    const after = names.map((name, i) =>
      inLayer(name, () => {
        const [given, state] = run(childParams(params, name), y, stateOr(parts, kind, states?.[i], batch));
        y =
          i < count - 1 ? drop.apply({}, given, key ? { ...rest, key: random.foldIn(key, i) } : rest) : given;
        return state;
      }),
    );
    return [y, after];
  };

  const unroll: Recurrent<S>["unroll"] = (params, { x, state, reset }, given = {}) => {
    if (x.ndim !== 3) throw rankError(kind, x.shape, sequenceAxes);
    const [batch, time] = x.shape as [number, number];
    const resets = reset && np.swapaxes(checkReset(kind, reset, [batch, time]), 0, 1);
    const [y, after] = eachLayer(params, np.swapaxes(x, 0, 1), batch, state, given, (own, rows, before) => {
      const projected = parts.project(own, rows);
      const [last, ys] = resets
        ? scan(
            (now: S, at: { readonly gates: Value; readonly reset: Value }) => {
              const next = parts.next(own, at.gates, cleared(now, at.reset));
              return [next, next.h as Value];
            },
            before,
            { gates: projected, reset: resets },
          )
        : scan(
            (now: S, gates: Value) => {
              const next = parts.next(own, gates, now);
              return [next, next.h as Value];
            },
            before,
            projected,
          );
      return [ys, last];
    });
    return { y: np.swapaxes(y, 0, 1), state: after };
  };

  return {
    kind,
    width,
    layers: Object.fromEntries(names.map((name) => [name, cell])),
    init: (key, input, where) => {
      const shape = shapeOf(kind, input);
      const features = shape[2];
      if (features === undefined || shape.length > 3) throw rankError(kind, shape, sequenceAxes);
      const drawn = names.map((name, i): readonly [string, Params<Tensor>] => [
        name,
        drawCell(parts, cellOptions, childKey(key, name), i === 0 ? features : width, where),
      ]);
      return Object.fromEntries(drawn);
    },
    apply: (params, x, given) => unroll(params, { x }, given).y,
    unroll,
    step: (params, { x, state, reset }, given = {}) => {
      if (x.ndim !== 2) throw rankError(kind, x.shape, "[batch, features] for one step");
      const batch = x.shape[0] as number;
      const starts = reset && checkReset(kind, reset, [batch]);
      const [y, after] = eachLayer(params, x, batch, state, given, (own, rows, before) => {
        const next = parts.next(own, parts.project(own, rows), starts ? cleared(before, starts) : before);
        return [next.h as Value, next];
      });
      return { y, state: after };
    },
    initialState: (batch) => names.map(() => zeroState(parts, batch)),
  };
}

/** The state, zeros in the rows that start anew; whatever stood there is gone, NaN included. */
function cleared<S extends CellState>(state: S, reset: Value): S {
  const rows = np.expandDims(reset, -1);
  return Object.fromEntries(
    Object.entries(state).map(([name, value]) => [name, np.where(rows, 0, value)]),
  ) as S;
}

function checkReset(kind: string, reset: Value, wanted: Shape): Value {
  if (reset.dtype === "bool" && shapeText(reset.shape) === shapeText(wanted)) return reset;
  throw layerError(
    kind,
    "SHAPE_MISMATCH",
    `reset is ${reset.type.text}, but should be bool${shapeText(wanted)}`,
    "give true where the state starts anew, for each row and step",
  );
}
