import { np, random, type Value } from "../../../engine/index.ts";
import { box, discrete } from "../../spaces/index.ts";
import type { CompiledEnvironment } from "../compiled.ts";
import { type GridLayout, type GridWorldOptions, gridLayout } from "./layout.ts";

/** The state of a compiled grid world, as the ordinary one's: cells and goals i32 [agents], the others scalars. */
export type CompiledGridState = {
  readonly lesson: Value;
  readonly cells: Value;
  readonly goals: Value;
  readonly key: Value;
  readonly holds: Value;
  readonly steps: Value;
};

/**
 * The grid world as functions of traced values: the same rules from the same tables as {@link gridWorld}, and the same
 * numbers at every step.
 *
 * @example
 * ```ts
 * const rows = compiledRows(compiledGridWorld({ agents: 2 }), 64); // 128 rows
 * ```
 */
export function compiledGridWorld(options: GridWorldOptions = {}): CompiledEnvironment<CompiledGridState> {
  const layout = gridLayout(options);
  const { agents, lessons, masks, name, size, timeLimit } = layout;
  /** Without several agents there is no axis of agents. */
  const perAgent = (x: Value): Value => (agents === 1 ? np.reshape(x, x.shape.slice(1)) : x);
  return {
    name,
    observationSpace: box({ shape: [size], low: -1, high: 1 }),
    actionSpace: discrete(4),
    agents,
    lessons,
    reset: (key, lesson) => beginning(layout, key, lesson),
    step: (state, action) => {
      const moves = np.take(layout.moves, np.reshape(action, [agents]).astype("i32"));
      const targets = state.cells.add(moves);
      const stays = np.logicalOr(np.equal(state.cells, state.goals), solid(layout, state, targets));
      const cells = np.where(stays, state.cells, targets);
      const holds = np.logicalOr(state.holds, anyAgent(np.equal(cells, state.key)));
      const terminated = np.all(np.equal(cells, state.goals));
      const steps = state.steps.add(1);
      return {
        state: { ...state, cells, holds, steps },
        reward: perAgent(np.broadcastTo(terminated.astype("f32"), [agents])),
        terminated,
        truncated: np.greaterEqual(steps, timeLimit),
      };
    },
    observe: (state) => perAgent(observed(layout, state)),
    ...(masks && { actionMask: (state: CompiledGridState) => perAgent(allowed(layout, state)) }),
  };
}

/** True if a flag of any agent is set. One agent needs no reduction. */
const anyAgent = (flags: Value): Value => (flags.size === 1 ? np.reshape(flags, []) : np.any(flags));

/** True for each cell with a wall or a shut door. */
function solid(layout: GridLayout, { lesson, holds }: CompiledGridState, cells: Value): Value {
  const wall = np.take(layout.walls, lesson.mul(layout.cells).add(cells)).astype("bool");
  const door = np.equal(cells, np.take(layout.doors, lesson));
  return np.logicalOr(wall, np.logicalAnd(door, np.logicalNot(holds)));
}

/** A table of lists of different lengths, padded with zeros, and their lengths. */
function table(lists: readonly Int32Array[]): { rows: Value; counts: Value } {
  const longest = Math.max(1, ...lists.map((list) => list.length));
  const rows = Int32Array.from({ length: lists.length * longest }, (_, i) => {
    return lists[Math.floor(i / longest)]?.[i % longest] ?? 0;
  });
  const counts = Int32Array.from(lists, (list) => list.length);
  return {
    rows: np.reshape(rows, [lists.length, longest]),
    counts: np.take(counts, np.arange(lists.length)),
  };
}

function beginning(layout: GridLayout, key: Value, lesson: Value): CompiledGridState {
  const { agents } = layout;
  const drawn = random.uniform(key, [2 * agents + 1]);
  /** Draws indices from 0 up to the list's length; `at` looks up their cells. */
  const pick = (lists: readonly Int32Array[], from: number, to: number) => {
    const { rows, counts } = table(lists);
    const count = np.take(counts, lesson);
    const index = np.slice(drawn, [from, to]).mul(count.astype("f32")).astype("i32");
    const row = np.take(rows, lesson, { axis: 0 });
    return { index, count, at: (i: Value): Value => np.take(row, i) };
  };
  const starts = pick(layout.starts, 0, agents);
  const cells = starts.at(starts.index);
  const { index, count, at } = pick(layout.goals, agents, 2 * agents);
  const next = np.where(np.equal(index.add(1), count), 0, index.add(1));
  const goals = np.where(np.equal(at(index), cells), at(next), at(index));
  const keys = pick(layout.keys, 2 * agents, 2 * agents + 1);
  const theirs = np.reshape(keys.at(keys.index), []);
  const holds = np.logicalOr(np.equal(theirs, 0), anyAgent(np.equal(cells, theirs)));
  return { lesson, cells, goals, key: theirs, holds, steps: np.zeros([], { dtype: "i32" }) };
}

function observed(layout: GridLayout, state: CompiledGridState): Value {
  const { agents, scale, stride, view } = layout;
  const { cells, goals, holds } = state;
  const around = np.expandDims(cells, 1).add(np.reshape(layout.seen, [1, -1]));
  const rowOf = (cell: Value): Value => np.floorDivide(cell, stride);
  const y = rowOf(cells);
  const x = cells.sub(y.mul(stride));
  /** [agents, 2] */
  const scaled = (dx: Value, dy: Value): Value => np.stack([dx, dy], { axis: 1 }).astype("f32").mul(scale);
  const far = (cell: Value): Value => {
    const row = rowOf(cell);
    return scaled(cell.sub(row.mul(stride)).sub(x), row.sub(y));
  };
  const column = (flag: Value): Value => np.broadcastTo(np.reshape(flag.astype("f32"), [-1, 1]), [agents, 1]);
  const door = np.take(layout.doors, state.lesson);
  const arrived = np.equal(cells, goals);
  const others = Array.from({ length: agents - 1 }, (_, i) => [
    far(np.roll(cells, -(i + 1))),
    column(np.roll(arrived, -(i + 1))),
  ]);
  return np.concatenate(
    [
      solid(layout, state, around).astype("f32"),
      scaled(x.sub(view), y.sub(view)),
      far(goals),
      np.where(holds, 0, far(state.key)),
      np.where(np.equal(door, 0), 0, far(door)),
      column(holds),
      ...(agents > 1 ? [column(arrived), ...others.flat()] : []),
    ],
    { axis: 1 },
  );
}

/** Moves that are not blocked, [agents, 4]; all of them if all are blocked. */
function allowed(layout: GridLayout, state: CompiledGridState): Value {
  const targets = np.expandDims(state.cells, 1).add(np.reshape(layout.moves, [1, -1]));
  const blocked = solid(layout, state, targets);
  return np.logicalOr(np.logicalNot(blocked), np.all(blocked, { axis: 1, keepdims: true }));
}
