import { shown } from "../../core/index.ts";
import { givenFault } from "../environments/given.ts";
import { whyOutside } from "../spaces/contains.ts";
import { writeFlat } from "../spaces/flat.ts";
import { flatSize } from "../spaces/sizes.ts";
import type { SpaceValue } from "../spaces/space.ts";
import type { Description } from "./description.ts";
import type { Fault } from "./failure.ts";
import { MaskRows } from "./masks.ts";
import type { Memory } from "./memory.ts";

/** What environments may give, before anything is known of it. */
type Given = {
  readonly observation?: unknown;
  readonly reward?: unknown;
  readonly terminated?: unknown;
  readonly truncated?: unknown;
  readonly actionMask?: unknown;
} | null;

/** Takes what environments give into their rows: all of it, or where something is wrong with it, nothing. */
export class Intake {
  readonly #description: Description;
  readonly #memory: Memory;
  /** The observation of one environment, until all is known to be right. */
  readonly #held: Float32Array;
  readonly #masks: MaskRows;

  constructor(description: Description, memory: Memory) {
    this.#description = description;
    this.#memory = memory;
    this.#held = new Float32Array(description.agents * flatSize(description.observationSpace));
    this.#masks = new MaskRows(description.actionSpace, description.agents);
  }

  /** The beginning of an episode. Returns what is wrong with it. */
  reset(i: number, given: unknown): Fault | undefined {
    const fault = this.#fault(given, false);
    if (fault) return fault;
    this.#commit(i, given as object);
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

  /** What an action led to. Returns what is wrong with it. */
  step(i: number, given: unknown): Fault | undefined {
    const step = given as NonNullable<Given>;
    const fault = this.#fault(given, true) ?? this.#endFault(step) ?? this.#rewardFault(step.reward);
    if (fault) return fault;
    this.#commit(i, step);
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

  #commit(i: number, given: NonNullable<Given>): void {
    this.#memory.observations.set(this.#held, i * this.#held.length);
    if (this.#description.masked)
      this.#masks.write(given.actionMask as Uint8Array | undefined, this.#memory.actionMasks, i);
  }

  #fault(given: unknown, acted: boolean): Fault | undefined {
    const wrong = givenFault(acted ? "step" : "reset", given);
    if (wrong) return wrong;
    const { observation, actionMask, terminated, truncated } = given as NonNullable<Given>;
    const ended = acted && (terminated === true || truncated === true);
    return this.#hold(observation) ?? this.#masks.fault(actionMask, this.#description.masked, ended);
  }

  /** Holds an observation, unless something is wrong with it. */
  #hold(observation: unknown): Fault | undefined {
    const { agents, observationSpace: space } = this.#description;
    if (agents > 1 && !(Array.isArray(observation) && observation.length === agents))
      return {
        what: `gave ${Array.isArray(observation) ? `${observation.length} observations` : "no list of observations"}`,
        fix: `return a list of ${agents} observations, one an agent`,
      };
    const size = this.#held.length / agents;
    for (let agent = 0; agent < agents; agent++) {
      const one = (agents === 1 ? observation : (observation as unknown[])[agent]) as SpaceValue;
      try {
        writeFlat(space, one, this.#held, agent * size);
      } catch (cause) {
        const fix = "give observations of the observation space, or describe the space as they are";
        return {
          what: `gave a wrong observation: ${whyOutside(space, one) ?? "it does not fit"}`,
          fix,
          cause,
        };
      }
    }
    for (let k = 0; k < this.#held.length; k++)
      if (!Number.isFinite(this.#held[k]))
        return {
          what: `gave an observation that is ${this.#held[k]} at ${k}`,
          fix: "look for a division by zero, a root or a logarithm of a negative number, or a sum that grows and grows",
        };
    return undefined;
  }

  #endFault({ terminated, truncated }: NonNullable<Given>): Fault | undefined {
    if (typeof terminated === "boolean" && typeof truncated === "boolean") return undefined;
    const wrong = typeof terminated === "boolean" ? "truncated" : "terminated";
    return {
      what: `gave ${shown({ terminated, truncated }[wrong])} as ${wrong}`,
      fix: "give both as true or false: terminated where the episode is over, truncated where it was broken off",
    };
  }

  #rewardFault(reward: unknown): Fault | undefined {
    const { agents } = this.#description;
    if (agents === 1) return Number.isFinite(reward) ? undefined : rewardFault(reward);
    const list = reward as ArrayLike<unknown> | undefined;
    if (list?.length !== agents)
      return { what: `gave ${shown(reward)} as rewards`, fix: `give a list of ${agents}, one an agent` };
    for (let agent = 0; agent < agents; agent++)
      if (!Number.isFinite(list[agent])) return rewardFault(list[agent]);
    return undefined;
  }
}

const rewardFault = (reward: unknown): Fault => ({
  what: `gave ${shown(reward)} as its reward`,
  fix: "give a finite number",
});
