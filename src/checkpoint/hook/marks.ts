import { EspalierError } from "../../core/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import type { Publication } from "./options.ts";

/**
 * Which checkpoints have been looked at for publishing, so that a resumed run publishes none twice and passes none
 * over: the counters at the last save, and what schedules remember. Seconds are left out, which no two runs share.
 */
export class PublishMarks implements Stateful {
  readonly #publications: readonly Publication[];
  #saved: Counters | undefined;

  constructor(publications: readonly Publication[]) {
    this.#publications = publications;
  }

  /** The publications that are due for a checkpoint at these counters, which counts as the last from now on. */
  take(counters: Counters): readonly Publication[] {
    const since = this.#saved ?? nothingDone(counters);
    this.#saved = counters;
    return this.#publications.filter(({ schedule }) => schedule.due({ counters, since }));
  }

  /** As for a run that has not begun. */
  clear(): void {
    this.#saved = undefined;
  }

  async getState(): Promise<StateTree> {
    const { seconds: _, ...saved } = this.#saved ?? { seconds: 0 };
    const states = this.#publications.map(({ schedule }) => schedule.state?.getState() ?? null);
    return { saved: this.#saved ? saved : null, schedules: await Promise.all(states) } as StateTree;
  }

  async setState(state: StateTree): Promise<void> {
    const { saved, schedules } = (state ?? {}) as { saved?: object | null; schedules?: readonly StateTree[] };
    if (saved === undefined || schedules?.length !== this.#publications.length)
      throw new EspalierError("STATE_INVALID", "this is not a state of these publications", {
        fix: "resume with the same `publish` as before",
      });
    this.#saved = saved === null ? undefined : ({ ...saved, seconds: 0 } as Counters);
    for (const [i, { schedule }] of this.#publications.entries())
      await schedule.state?.setState(schedules[i] as StateTree);
  }
}

const nothingDone = (counters: Counters): Counters =>
  Object.fromEntries(Object.keys(counters).map((name) => [name, 0])) as Counters;
