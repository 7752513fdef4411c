import type { Environment, Reset } from "../environments/environment.ts";
import type { Policy } from "../policies/policy.ts";
import { whyOutside } from "../spaces/contains.ts";
import { writeFlat } from "../spaces/flat.ts";
import { actionSize, choiceGroups, choices, flatSize, type Space, type SpaceValue } from "../spaces/space.ts";

/** What the policy is shown at a step: a row for each agent of each environment, and rows that nobody has. */
export interface Seating {
  readonly rows: number;
  readonly agents: number;
  /** Numbers in a row of observations, of actions and of masks. */
  readonly size: number;
  readonly actions: number;
  readonly choices: number;
  /** How many there are to choose from in each choice of an action. */
  readonly groups: readonly number[];
  readonly observations: Float32Array;
  /** 1 where an episode begins with this observation. */
  readonly resets: Uint8Array;
  /** Where the policy's actions can be masked; all ones where the environment says nothing. */
  readonly masks: Uint8Array | undefined;
  /** Two words a row from which its action is drawn. */
  readonly keys: Uint32Array;
}

/** Whether a policy's actions can be masked. */
export const hasMasks = ({ distribution }: Policy): boolean => distribution.masked !== undefined;

/** Room for so many environments like this one. */
export function seatingFor(
  masked: boolean,
  environment: Pick<Environment, "agents" | "observationSpace" | "actionSpace">,
  environments: number,
): Seating {
  const { agents = 1, observationSpace, actionSpace } = environment;
  const rows = environments * agents;
  const size = flatSize(observationSpace);
  const allowed = masked ? choices(actionSpace) : 0;
  return {
    ...{ rows, agents, size },
    actions: actionSize(actionSpace),
    choices: allowed,
    groups: choiceGroups(actionSpace),
    observations: new Float32Array(rows * size),
    resets: new Uint8Array(rows).fill(1),
    masks: masked ? new Uint8Array(rows * allowed).fill(1) : undefined,
    keys: new Uint32Array(rows * 2),
  };
}

/**
 * Writes what an environment gave into its rows. Returns what is wrong with it, in words. A mask that leaves nothing to
 * choose may stand where the episode is over.
 */
export function takeIn(
  { agents, size, choices, groups, observations, masks }: Seating,
  space: Space,
  index: number,
  { observation, actionMask }: Reset<SpaceValue | readonly SpaceValue[]>,
  over = false,
): string | undefined {
  for (let agent = 0; agent < agents; agent++) {
    const from = (index * agents + agent) * size;
    const seen = agents === 1 ? observation : (observation as readonly SpaceValue[])[agent];
    try {
      writeFlat(space, seen as SpaceValue, observations, from);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
      return `an observation that does not fit: ${whyOutside(space, seen) ?? why}`;
    }
    for (let i = 0; i < size; i++)
      if (!Number.isFinite(observations[from + i]))
        return `an observation with ${observations[from + i]} at ${i}`;
  }
  const [first, all] = [index * agents * choices, agents * choices];
  if (actionMask === undefined) masks?.fill(1, first, first + all);
  else if (!masks) return "action masks, and the policy's actions cannot be masked";
  else if (actionMask.length !== all)
    return `an action mask of ${actionMask.length} entries, where ${all} are expected`;
  else if (!over && firstEmpty(actionMask, groups) >= 0)
    return `an action mask that allows nothing from ${firstEmpty(actionMask, groups)} on`;
  else masks.set(actionMask, first);
  return undefined;
}

/** Where a choice begins of which nothing is allowed, or -1. Agents stand one after the other. */
export function firstEmpty(mask: ArrayLike<number>, groups: readonly number[]): number {
  let at = 0;
  while (at < mask.length)
    for (const n of groups) {
      let allowed = false;
      for (let k = at; k < at + n; k++) if (mask[k]) allowed = true;
      if (!allowed) return at;
      at += n;
    }
  return -1;
}
