import { EspalierError } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Memory } from "./memory.ts";
import type { Part } from "./stepper.ts";
import type { EpisodeEnd } from "./vector.ts";

type Rows = Uint8Array | Float32Array | Float64Array | Int32Array;

/** What a vector is in: everything its future depends on. */
export interface VectorState {
  readonly name: string;
  /** null before the first reset. */
  readonly seed: number | null;
  readonly step: number;
  readonly ended: readonly EpisodeEnd[];
  /** Missing where nobody gave a number, or all have been asked for. */
  readonly infos?: StateTree;
  readonly rows: Readonly<Record<string, Rows>>;
  readonly environments: readonly StateTree[];
}

/** What the last step gave, by row, and what is told from outside. */
const outside = [
  "observations",
  "rewards",
  "terminated",
  "truncated",
  "resets",
  "actionMasks",
  "nextLessons",
] as const;
/** The account of episodes, which is kept where the environments are. */
const inside = ["returns", "lengths", "lessons", "fresh", "restarts", "failures"] as const;

/** A copy of all rows, put together from the parts. */
export function packRows(outputs: Memory, parts: readonly Part[]): VectorState["rows"] {
  const count = outputs.lengths.length;
  const packed: Record<string, Rows> = {};
  // Without action masks there is nothing to keep of them.
  for (const key of outside) if (outputs[key].length > 0) packed[key] = outputs[key].slice();
  for (const key of inside) {
    const whole = outputs[key].slice();
    for (const { first, memory } of parts) whole.set(memory[key], (whole.length / count) * first);
    packed[key] = whole;
  }
  return packed;
}

/** Puts packed rows into the outputs and the parts. */
export function unpackRows(rows: VectorState["rows"], outputs: Memory, parts: readonly Part[]): void {
  const total = outputs.lengths.length;
  for (const key of [...outside, ...inside]) {
    const whole = rows[key];
    if (whole === undefined) continue;
    outputs[key].set(whole);
    const each = whole.length / total;
    for (const { first, count, memory } of parts)
      memory[key].set(whole.subarray(first * each, (first + count) * each));
  }
}

/** Refuses what is no state of such a vector. */
export function checkState(state: StateTree, name: string, outputs: Memory): VectorState {
  const given = state as Partial<VectorState> | null;
  if (typeof given?.rows !== "object" || !Array.isArray(given.environments) || !Array.isArray(given.ended))
    throw new EspalierError("STATE_INVALID", "this is not a state of a vector of environments", {
      fix: "pass what getState() of such a vector gave",
    });
  for (const key of [...outside, ...inside]) {
    const [has, needs] = [given.rows[key]?.length ?? 0, outputs[key].length];
    if (has !== needs)
      throw new EspalierError(
        "STATE_INVALID",
        `the state is of ${given.rows.lengths?.length} environments "${given.name}" with ${has} ` +
          `${key}, and this vector is of ${outputs.lengths.length} "${name}" with ${needs}`,
        { fix: "restore into a vector of as many of the same environments" },
      );
  }
  return given as VectorState;
}
