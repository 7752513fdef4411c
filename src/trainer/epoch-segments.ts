import { placeMissing, taskFailed } from "./failure.ts";
import type { Run } from "./run.ts";
import { segmentsOf } from "./segments.ts";
import type { Segment } from "./task.ts";

/** The segments of the epoch under way: asked for once an epoch, and again after a restored state. */
export class EpochSegments {
  readonly #run: Run;
  #at: object | undefined;
  #segments: readonly Segment[] = [];

  constructor(run: Run) {
    this.#run = run;
  }

  get segments(): readonly Segment[] {
    const { task, progress } = this.#run;
    if (this.#at !== progress.epochAt) {
      try {
        this.#segments = segmentsOf(task, progress.epochAt);
      } catch (cause) {
        throw taskFailed("epoch", progress.epochAt, cause);
      }
      this.#run.repeats = this.#segments.reduce((sum, { repeats }) => sum + repeats, 0);
      this.#checkPlace();
      this.#at = progress.epochAt;
    }
    return this.#segments;
  }

  /** A restored state may come from an epoch of another shape. */
  #checkPlace(): void {
    const { segment, repeat, next, epochAt } = this.#run.progress;
    const begins = next === "onBatchStart" || next === "work";
    const repeats = this.#segments[segment]?.repeats;
    let fits: boolean;
    if (repeats === undefined) fits = segment === this.#segments.length && !begins;
    else fits = begins ? repeat < repeats : repeat <= repeats;
    if (!fits) throw placeMissing(segment, repeat, epochAt);
  }
}
