import { EspalierError } from "../../core/index.ts";
import type { Environment } from "../environments/environment.ts";
import { readAction } from "../spaces/flat.ts";
import { actionSize, type Leaf, leavesOf, type Space, type SpaceValue } from "../spaces/space.ts";

/** Reads the action of an environment from its rows, as `step` takes it. A single choice is a number; all else is a new object. */
export function actionReader(
  space: Space,
  agents: number,
): (actions: Float32Array, i: number) => Parameters<Environment["step"]>[0] {
  const size = actionSize(space);
  if (agents === 1) return (actions, i) => readAction(space, actions, i * size);
  return (actions, i) => {
    const list: SpaceValue[] = [];
    for (let agent = 0; agent < agents; agent++)
      list.push(readAction(space, actions, (i * agents + agent) * size));
    return list;
  };
}

/** Describes what is wrong with the action at an index. */
function actionFault(leaves: readonly Leaf[], actions: Float32Array, at: number): string | undefined {
  for (const { space: part, path, action, actions: count } of leaves)
    for (let i = 0; i < count; i++) {
      const fault = numberFault(part, i, actions[at + action + i] as number);
      if (fault !== undefined) return [fault, ...path.toReversed().map((name) => `"${name}"`)].join(" in ");
    }
  return undefined;
}

function numberFault(space: Leaf["space"], i: number, value: number): string | undefined {
  if (space.kind === "box") return Number.isFinite(value) ? undefined : `${value} at ${i}`;
  const n = space.kind === "discrete" ? space.n : (space.choices[i] as number);
  if (value >= 0 && value < n && Number.isInteger(value)) return undefined;
  return `${value}, where a whole number from 0 to ${n - 1} is expected`;
}

/** Refuses actions that are not in their space, apart from `ignored` rows. */
export function checkActions(
  space: Space,
  size: number,
  actions: Float32Array,
  rows: number,
  ignored: (row: number) => boolean,
): void {
  if (actions.length !== rows * size)
    throw new EspalierError(
      "SHAPE_MISMATCH",
      `step() was given ${actions.length} numbers, and the actions of ${rows} rows are ${rows * size}`,
      { fix: `pass a Float32Array of [${rows}, ${size}]` },
    );
  const leaves = leavesOf(space);
  for (let row = 0; row < rows; row++) {
    if (ignored(row)) continue;
    const fault = actionFault(leaves, actions, row * size);
    if (fault !== undefined)
      throw new EspalierError("ACTION_INVALID", `the action of row ${row} is ${fault}`, {
        fix: "look at the policy that chose it: a NaN usually comes from parameters that have diverged",
      });
  }
}
