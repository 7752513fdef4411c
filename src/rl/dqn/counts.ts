import { EspalierError } from "../../core/index.ts";
import { hostRandom } from "../../engine/index.ts";
import type { RandomStreams } from "../../random/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";

/** Keys of actions, of what is drawn from experience, of losses. */
export interface DqnKeys {
  readonly actions: Uint32Array;
  readonly replay: Uint32Array;
  readonly losses: Uint32Array;
}

export const drawKeys = (streams: RandomStreams): DqnKeys => ({
  actions: streams.get("actions").key(),
  replay: streams.get("replay").key(),
  losses: streams.get("losses").key(),
});

/** What random numbers depend on: keys, and how many steps and updates there were, however the work is cut. */
export class DqnCounts implements Stateful {
  #keys: DqnKeys;
  steps = 0;
  updates = 0;

  constructor(keys: DqnKeys) {
    this.#keys = keys;
  }

  get keys(): DqnKeys {
    return this.#keys;
  }

  /** The key of the step that comes now. */
  stepKey(): Uint32Array {
    return foldIn(this.#keys.actions, this.steps);
  }

  /** The key of what an update draws: the one that comes after so many others. */
  replayKey(ahead: number): Uint32Array {
    return foldIn(this.#keys.replay, this.updates + ahead);
  }

  restart(keys: DqnKeys): void {
    this.#keys = keys;
    this.steps = 0;
    this.updates = 0;
  }

  getState(): StateTree {
    const { actions, replay, losses } = this.#keys;
    return {
      ...{ actions: actions.slice(), replay: replay.slice(), losses: losses.slice() },
      ...{ steps: this.steps, updates: this.updates },
    };
  }

  setState(state: StateTree): void {
    const given = (state ?? {}) as Readonly<Record<string, unknown>>;
    const { actions, replay, losses, steps, updates } = given;
    const isKey = (x: unknown): boolean => ArrayBuffer.isView(x) && (x as Uint32Array).length === 2;
    if (![actions, replay, losses].every(isKey) || !isCount(steps) || !isCount(updates))
      throw new EspalierError("STATE_INVALID", "this is not a state of a task's keys and counts", {
        fix: "pass what getState() gave",
      });
    const key = (x: unknown): Uint32Array => Uint32Array.from(x as Uint32Array);
    this.#keys = { actions: key(actions), replay: key(replay), losses: key(losses) };
    this.steps = steps;
    this.updates = updates;
  }
}

/** Two words of a count, so that keys never come round. */
const foldIn = (key: Uint32Array, count: number): Uint32Array =>
  hostRandom.hostFoldIn(hostRandom.hostFoldIn(key, count % 2 ** 32), Math.floor(count / 2 ** 32));

const isCount = (x: unknown): x is number => Number.isSafeInteger(x) && (x as number) >= 0;
