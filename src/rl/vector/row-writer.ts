import { shown } from "../../core/index.ts";
import { type Fault, resultFault } from "../environments/environment.ts";
import { whyOutside } from "../spaces/contains.ts";
import { flatBounds, writeFlat } from "../spaces/flat.ts";
import {
  box,
  choiceGroups,
  flatSize,
  type Leaf,
  leavesOf,
  type Space,
  type SpaceValue,
} from "../spaces/space.ts";
import type { Description } from "./make-environments.ts";
import type { Memory } from "./memory.ts";

/** The result of `reset` or `step`, before it is checked. */
interface Unchecked {
  readonly observation?: unknown;
  readonly reward?: unknown;
  readonly terminated?: unknown;
  readonly truncated?: unknown;
  readonly actionMask?: unknown;
}

/** The part of a vector's description that writing observations needs. */
type ObservedDescription = Pick<Description, "observationSpace" | "actionSpace" | "agents" | "masked">;

/** Checks the results of environments and writes them to their rows: a whole result, or nothing if it has a fault. */
export class RowWriter {
  readonly #description: ObservedDescription;
  readonly #memory: Memory;
  /** The observation of one environment while it is checked. */
  readonly #checked: Float32Array;
  /** The options of each choice. */
  readonly #groups: readonly number[];
  /** Numbers in the action mask of one environment. */
  readonly #choices: number;
  readonly #onOutOfBounds: (i: number, what: string) => void;
  /** Of every number of an observation. */
  #bounds: ReturnType<typeof flatBounds>;

  /** `onOutOfBounds` is called for the first observation outside the bounds of its space, which is no fault. */
  constructor(
    description: ObservedDescription,
    memory: Memory,
    onOutOfBounds: (i: number, what: string) => void = () => undefined,
  ) {
    const { observationSpace, actionSpace, agents } = description;
    this.#description = description;
    this.#memory = memory;
    this.#checked = new Float32Array(agents * flatSize(observationSpace));
    this.#groups = choiceGroups(actionSpace);
    this.#choices = agents * this.#groups.reduce((sum, n) => sum + n, 0);
    this.#onOutOfBounds = onOutOfBounds;
    this.#bounds = flatBounds(observationSpace);
  }

  /** Writes the beginning of an episode of environment i. Returns its fault, if it has one. */
  reset(i: number, result: unknown): Fault | undefined {
    const fault = resultFault("reset", result) ?? this.observe(i, result as Unchecked);
    if (fault) return fault;
    const { rewards, returns, resets, terminated, truncated, lengths } = this.#memory;
    const { agents } = this.#description;
    lengths[i] = 0;
    for (let row = i * agents; row < (i + 1) * agents; row++) {
      rewards[row] = 0;
      returns[row] = 0;
      resets[row] = 1;
      terminated[row] = 0;
      truncated[row] = 0;
    }
    return undefined;
  }

  /** Writes the result of a step of environment i. Returns its fault, if it has one. */
  step(i: number, result: unknown): Fault | undefined {
    const step = result as Unchecked;
    const fault =
      resultFault("step", result) ??
      this.#check(i, step, step.terminated === true || step.truncated === true) ??
      this.#endFault(step) ??
      this.#rewardFault(step.reward);
    if (fault) return fault;
    this.#write(i, step);
    const { rewards, returns, resets, terminated, truncated, lengths } = this.#memory;
    const { agents } = this.#description;
    lengths[i] = (lengths[i] as number) + 1;
    for (let agent = 0; agent < agents; agent++) {
      const row = i * agents + agent;
      const reward = (agents === 1 ? step.reward : (step.reward as number[])[agent]) as number;
      rewards[row] = reward;
      returns[row] = (returns[row] as number) + reward;
      resets[row] = 0;
      terminated[row] = step.terminated ? 1 : 0;
      truncated[row] = step.truncated ? 1 : 0;
    }
    return undefined;
  }

  /** Writes observation and action mask of environment i. Returns their fault, if they have one. */
  observe(i: number, result: Pick<Unchecked, "observation" | "actionMask">): Fault | undefined {
    const fault = this.#check(i, result, false);
    if (!fault) this.#write(i, result);
    return fault;
  }

  #write(i: number, { actionMask }: Unchecked): void {
    this.#memory.observations.set(this.#checked, i * this.#checked.length);
    if (this.#description.masked) this.#writeMask(i, actionMask as Uint8Array | undefined);
  }

  #check(i: number, { observation, actionMask }: Unchecked, ended: boolean): Fault | undefined {
    return this.#observationFault(i, observation) ?? this.#maskFault(actionMask, ended);
  }

  /** Flattens an observation into `#checked`. Returns its fault, if it has one. */
  #observationFault(i: number, observation: unknown): Fault | undefined {
    const { agents, observationSpace: space } = this.#description;
    if (agents > 1 && !(Array.isArray(observation) && observation.length === agents))
      return {
        what: `gave ${Array.isArray(observation) ? `${observation.length} observations` : "no list of observations"}`,
        fix: `return a list of ${agents} observations, one per agent`,
      };
    const flat = this.#checked;
    const size = flat.length / agents;
    for (let agent = 0; agent < agents; agent++) {
      const one = (agents === 1 ? observation : (observation as unknown[])[agent]) as SpaceValue;
      try {
        writeFlat(space, one, flat, agent * size);
      } catch (cause) {
        return {
          what: `gave a wrong observation: ${whyOutside(space, one) ?? "it does not fit"}`,
          fix: "return observations of the observation space, or describe the space as they are",
          cause,
        };
      }
    }
    const { least, greatest, low, high } = this.#bounds;
    for (let k = 0; k < flat.length; k++) {
      const x = flat[k] as number;
      if (x >= least && x <= greatest) continue;
      const j = k % size;
      if (x >= (low[j] as number) && x <= (high[j] as number)) continue;
      if (!Number.isFinite(x))
        return {
          what: `gave an observation that is ${x} at ${k}`,
          fix: "look for a division by zero, a root or logarithm of a negative number, or a sum that grows without bound",
        };
      this.#reportOutOfBounds(i, k);
      return this.#observationFault(i, observation);
    }
    return undefined;
  }

  /** Reports the first number outside its bounds. From then on numbers need only be finite. */
  #reportOutOfBounds(i: number, k: number): void {
    const { low, high } = this.#bounds;
    const j = k % low.length;
    const position = positionIn(this.#description.observationSpace, j);
    const bounds = `${boundText(low[j])} and ${boundText(high[j])}`;
    this.#bounds = flatBounds(box({ shape: low.length }));
    this.#onOutOfBounds(
      i,
      `${Number(this.#checked[k]?.toPrecision(7))}${position}, where the bounds are ${bounds}`,
    );
  }

  #endFault({ terminated, truncated }: Unchecked): Fault | undefined {
    if (typeof terminated === "boolean" && typeof truncated === "boolean") return undefined;
    const wrong = typeof terminated === "boolean" ? "truncated" : "terminated";
    return {
      what: `gave ${shown({ terminated, truncated }[wrong])} as ${wrong}`,
      fix: "return both as true or false: terminated if the episode is over, truncated if it was cut off",
    };
  }

  #rewardFault(reward: unknown): Fault | undefined {
    const { agents } = this.#description;
    if (agents === 1) return isReward(reward) ? undefined : rewardFault(reward);
    const list = reward as ArrayLike<unknown> | undefined;
    if (list?.length !== agents)
      return { what: `gave ${shown(reward)} as rewards`, fix: `return a list of ${agents}, one per agent` };
    for (let agent = 0; agent < agents; agent++) if (!isReward(list[agent])) return rewardFault(list[agent]);
    return undefined;
  }

  /** The fault of a mask, if it has one. At the end of an episode a mask may allow nothing. */
  #maskFault(mask: unknown, ended: boolean): Fault | undefined {
    if (mask === undefined) return undefined;
    if (!this.#description.masked)
      return {
        what: "gave an action mask, and none is expected: the first reset gave none, or the policy cannot be masked",
        fix: "give a mask with every observation from the first on, of ones where everything is allowed; box actions have none",
      };
    const length = (mask as Uint8Array)?.length;
    if (length !== this.#choices)
      return {
        what: `gave an action mask of length ${length}, and ${this.#choices} choices need one of ${this.#choices}`,
        fix: "return 1 or 0 for every choice, of all choices and all agents in a row",
      };
    const empty = ended ? -1 : this.#firstEmpty(mask as Uint8Array);
    if (empty < 0) return undefined;
    return {
      what: `gave an action mask that allows nothing from ${empty} on`,
      fix: "allow at least one action, or end the episode",
    };
  }

  /** Writes the mask of environment i: all ones if there is none, or if it allows nothing because an episode is over. */
  #writeMask(i: number, mask: Uint8Array | undefined): void {
    const into = this.#memory.actionMasks;
    const at = i * this.#choices;
    if (mask === undefined || this.#firstEmpty(mask) >= 0) into.fill(1, at, at + this.#choices);
    else for (let k = 0; k < this.#choices; k++) into[at + k] = mask[k] ? 1 : 0;
  }

  /** The index at which a choice begins that has no allowed option, or -1. */
  #firstEmpty(mask: Uint8Array): number {
    let at = 0;
    for (let agent = 0; agent < this.#description.agents; agent++)
      for (let g = 0; g < this.#groups.length; g++) {
        const end = at + (this.#groups[g] as number);
        let allowed = false;
        for (let k = at; k < end; k++) if (mask[k]) allowed = true;
        if (!allowed) return at;
        at = end;
      }
    return -1;
  }
}

/** True if it is a finite number in single precision, as rows hold rewards. */
const isReward = (reward: unknown): boolean =>
  typeof reward === "number" && Number.isFinite(Math.fround(reward));

const rewardFault = (reward: unknown): Fault => ({
  what: `gave ${shown(reward)} as its reward`,
  fix: "return a number that is finite in single precision",
});

/** Bounds beyond single precision stand for none. */
const boundText = (bound: number | undefined): string =>
  Math.abs(bound as number) > 3.4e38 ? "none" : String(Number(bound?.toPrecision(7)));

/** Names the number at `k` of a flat row: its index in a box, and the parts of dicts it is in. */
function positionIn(space: Space, k: number): string {
  const { path, from } = leavesOf(space).findLast((leaf) => leaf.from <= k) as Leaf;
  return `${path.map((name) => ` in "${name}"`).join("")} at ${k - from}`;
}
