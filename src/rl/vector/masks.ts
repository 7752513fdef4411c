import { partNames, partOf, type Space } from "../spaces/space.ts";
import type { Fault } from "./failure.ts";

/** How many there are to choose from in each choice of an action space, in the order of masks. */
export function choiceGroups(space: Space): readonly number[] {
  if (space.kind === "discrete") return [space.n];
  if (space.kind === "multiDiscrete") return space.choices;
  if (space.kind === "dict") return partNames(space).flatMap((name) => choiceGroups(partOf(space, name)));
  return [];
}

/** Puts the action masks that environments give into rows. */
export class MaskRows {
  readonly #groups: readonly number[];
  readonly #agents: number;
  /** Of one environment. */
  readonly #size: number;

  constructor(actionSpace: Space, agents: number) {
    this.#groups = choiceGroups(actionSpace);
    this.#agents = agents;
    this.#size = agents * this.#groups.reduce((sum, n) => sum + n, 0);
  }

  /** What is wrong with a mask, if anything. One that leaves nothing to choose may stand at the end of an episode. */
  fault(mask: unknown, masked: boolean, ended: boolean): Fault | undefined {
    if (mask === undefined) return undefined;
    if (!masked)
      return {
        what: "gave an action mask, and the first reset of such an environment gave none",
        fix: "give a mask with every observation from the first on, of ones where everything is allowed",
      };
    const length = (mask as Uint8Array)?.length;
    if (length !== this.#size)
      return {
        what: `gave an action mask of length ${length}, and ${this.#size} choices need one of ${this.#size}`,
        fix: "give 1 or 0 for every choice, of all choices and all agents in a row",
      };
    if (!ended && this.#firstEmpty(mask as Uint8Array) >= 0)
      return {
        what: `gave an action mask that allows nothing from ${this.#firstEmpty(mask as Uint8Array)} on`,
        fix: "allow at least one action, or end the episode",
      };
    return undefined;
  }

  /** Without a mask everything is allowed; so it is where nothing was, because an episode is over. */
  write(mask: Uint8Array | undefined, into: Uint8Array, i: number): void {
    const at = i * this.#size;
    if (mask === undefined) {
      into.fill(1, at, at + this.#size);
      return;
    }
    for (let k = 0; k < this.#size; k++) into[at + k] = mask[k] ? 1 : 0;
    if (this.#firstEmpty(mask) >= 0) into.fill(1, at, at + this.#size);
  }

  /** Where a choice begins of which nothing is allowed, or -1. */
  #firstEmpty(mask: Uint8Array): number {
    let at = 0;
    for (let agent = 0; agent < this.#agents; agent++)
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
