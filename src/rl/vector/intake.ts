import { shown } from "../../core/index.ts";
import { givenFault } from "../environments/environment.ts";
import { whyOutside } from "../spaces/contains.ts";
import { flatBounds, writeFlat } from "../spaces/flat.ts";
import { box, flatSize, partNames, partOf, type Space, type SpaceValue } from "../spaces/space.ts";
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
  readonly info?: unknown;
} | null;

/** Told of an observation beyond the bounds of its space, once: which environment, and what it showed. */
export type Outside = (i: number, what: string) => void;

/** Takes what environments give into their rows: all of it, or where something is wrong with it, nothing. */
export class Intake {
  readonly #description: Description;
  readonly #memory: Memory;
  /** The observation of one environment, until all is known to be right. */
  readonly #held: Float32Array;
  readonly #masks: MaskRows;
  readonly #outside: Outside;
  /** Of every number of an observation. */
  #bounds: ReturnType<typeof flatBounds>;

  constructor(description: Description, memory: Memory, outside: Outside) {
    this.#outside = outside;
    this.#bounds = flatBounds(description.observationSpace);
    this.#description = description;
    this.#memory = memory;
    this.#held = new Float32Array(description.agents * flatSize(description.observationSpace));
    this.#masks = new MaskRows(description.actionSpace, description.agents);
  }

  /** The beginning of an episode. Returns what is wrong with it. */
  reset(i: number, given: unknown): Fault | undefined {
    const fault = this.#fault(i, given, false);
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
    const fault = this.#fault(i, given, true) ?? this.#endFault(step) ?? this.#rewardFault(step.reward);
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

  #fault(i: number, given: unknown, acted: boolean): Fault | undefined {
    const wrong = givenFault(acted ? "step" : "reset", given);
    if (wrong) return wrong;
    const { observation, actionMask, terminated, truncated } = given as NonNullable<Given>;
    const ended = acted && (terminated === true || truncated === true);
    return this.#hold(i, observation) ?? this.#masks.fault(actionMask, this.#description.masked, ended);
  }

  /** Holds an observation, unless something is wrong with it. */
  #hold(i: number, observation: unknown): Fault | undefined {
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
    const held = this.#held;
    const { least, greatest, low, high } = this.#bounds;
    for (let k = 0; k < held.length; k++) {
      const x = held[k] as number;
      if (x >= least && x <= greatest) continue;
      const j = k % size;
      if (x >= (low[j] as number) && x <= (high[j] as number)) continue;
      if (!Number.isFinite(x))
        return {
          what: `gave an observation that is ${x} at ${k}`,
          fix: "look for a division by zero, a root or a logarithm of a negative number, or a sum that grows and grows",
        };
      this.#tellOutside(i, k);
      return this.#hold(i, observation);
    }
    return undefined;
  }

  /** Told once: from then on numbers need only be finite. */
  #tellOutside(i: number, k: number): void {
    const { low, high } = this.#bounds;
    const at = k % low.length;
    const place = partAt(this.#description.observationSpace, at);
    const bounds = `${shownBound(low[at])} and ${shownBound(high[at])}`;
    this.#bounds = flatBounds(box({ shape: low.length }));
    this.#outside(i, `${Number(this.#held[k]?.toPrecision(7))}${place}, where the bounds are ${bounds}`);
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

/** Bounds of finite numbers stand for none. */
const shownBound = (bound: number | undefined): string =>
  Math.abs(bound as number) > 3.4e38 ? "none" : String(Number(bound?.toPrecision(7)));

/** Where the number at `k` of a flat row stands: its place in a box, and the names of the parts it is in. */
function partAt(space: Space, k: number): string {
  if (space.kind !== "dict") return ` at ${k}`;
  let from = 0;
  for (const name of partNames(space)) {
    const part = partOf(space, name);
    if (k < from + flatSize(part)) return ` in "${name}"${partAt(part, k - from)}`;
    from += flatSize(part);
  }
  return "";
}
