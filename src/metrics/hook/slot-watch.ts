import type { Counters } from "../../schedule/index.ts";
import type { StateTree } from "../../state/index.ts";

/**
 * Notices new values of a shared slot, whenever they were provided, so that nobody must watch for them. What was taken
 * before a resume is not taken again.
 */
export class SlotWatch<T extends { readonly counters: Counters }> {
  #seen: T | undefined;
  /** Where the newest that was taken belongs. */
  #mark: string | undefined;

  /** The value, if it is new. */
  take(value: T | undefined): T | undefined {
    if (value === undefined || value === this.#seen) return undefined;
    const mark = markOf(value.counters);
    const isRestored = this.#seen === undefined && mark === this.#mark;
    this.#seen = value;
    this.#mark = mark;
    return isRestored ? undefined : value;
  }

  getState(): StateTree {
    return this.#mark ?? null;
  }

  setState(state: StateTree): void {
    this.#seen = undefined;
    this.#mark = typeof state === "string" ? state : undefined;
  }
}

/** Counters as a text, but for seconds, which no two runs share. */
const markOf = ({ seconds: _, ...counters }: Counters): string =>
  JSON.stringify(Object.entries(counters).sort(([a], [b]) => (a < b ? -1 : 1)));
