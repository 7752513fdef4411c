import { Dispatch } from "./dispatch.ts";
import { EpochSegments } from "./epoch-segments.ts";
import { epochEmpty } from "./failure.ts";
import { firstBusy } from "./fuse.ts";
import { limitReached } from "./limits.ts";
import { emit, type Run } from "./run.ts";
import { isEmpty } from "./segments.ts";
import type { Segment } from "./task.ts";
import { beginValidation, endValidation, validate, validationReached } from "./validation-loop.ts";

/**
 * The loop. `train()` runs onTrainingStart before it, and the last validation, onError and onTrainingEnd after it.
 *
 * ```
 * for each epoch                          until config.epochs, a limit or a stop
 *   onEpochStart                          epoch = its index, epochs = those completed
 *   for each segment of task.epoch()
 *     a rollout:  onRolloutStart
 *                 task.run()              all repeats, in as few calls as can be
 *                 onRolloutEnd
 *     batches:    for each batch
 *                   onBatchStart
 *                   task.run()            this batch, and those after it that nobody watches
 *                   onBatchEnd
 *     after each:  onValidationStart       when due by updates, samples, ...: see validation-loop.ts
 *                    task.validate()
 *                  onValidationEnd
 *     after each call, before the end event of its last repeat:
 *                 onBatchesEnd            its values, stacked
 *   the epoch is completed: epochs + 1
 *   onTrainPhaseEnd                       where it had batches
 *   onValidationStart                     when due
 *     task.validate()
 *   onValidationEnd
 *   ramps observe the epoch's means
 *   onEpochEnd
 * onValidationStart ... onValidationEnd   at the end, where the newest validation is not from the last update
 * ```
 *
 * It is written as steps. Each sets `progress.next` before it runs its event, so that a state taken in a handler goes
 * on after that event: whoever restores it hears of no event twice. An end that was asked for takes effect before the
 * next rollout, batch or epoch begins; an interrupt also before a validation. Ranks that end together go on, one repeat
 * at a time, until they have come to the place that all of them agree on.
 */
export class TrainingLoop {
  readonly #run: Run;
  readonly #dispatch: Dispatch;
  readonly #epoch: EpochSegments;

  constructor(run: Run) {
    this.#run = run;
    this.#dispatch = new Dispatch(run);
    this.#epoch = new EpochSegments(run);
  }

  /** Resolves when nothing is left to do or the run is to end. */
  async run(): Promise<void> {
    for (;;) {
      const waiting = this.#step();
      if (waiting === finished) break;
      if (waiting instanceof Promise) {
        await waiting;
        this.#run.finite.raise();
      }
      if (this.#dispatch.breathDue) await this.#dispatch.breathe();
    }
  }

  #step(): unknown {
    const run = this.#run;
    const { progress } = run;
    switch (progress.next) {
      case "onEpochStart":
        return this.#beginEpoch();

      case "segment": {
        const segments = this.#epoch.segments;
        const index = progress.exhausted ? segments.length : firstBusy(segments, progress.segment);
        progress.segment = index;
        const segment = segments[index];
        if (segment) progress.next = segment.phase === "rollout" ? "onRolloutStart" : "onBatchStart";
        else return this.#completeEpoch();
        return undefined;
      }

      case "onRolloutStart":
      case "onBatchStart": {
        const over = this.#over();
        if (over) return over;
        const event = progress.next;
        progress.next = "work";
        return emit(run, event);
      }

      case "work": {
        const segment = this.#epoch.segments[progress.segment] as Segment;
        const over = segment.phase === "rollout" && progress.repeat > 0 ? this.#over() : undefined;
        if (over) return over;
        run.phase = segment.phase;
        return run.ahead > 0 ? this.#dispatch.walk(segment) : this.#dispatch.call(this.#epoch.segments);
      }

      case "onBatchEnd": {
        const segment = this.#epoch.segments[progress.segment] as Segment;
        const more = progress.repeat < segment.repeats && !progress.exhausted;
        progress.next = more ? "onBatchStart" : "segment";
        if (!more) this.#leaveSegment();
        if (this.#validatesHere()) progress.next = "validation";
        return emit(run, "onBatchEnd");
      }

      case "onRolloutEnd":
        progress.next = "segment";
        this.#leaveSegment();
        if (this.#validatesHere()) progress.next = "validation";
        return emit(run, "onRolloutEnd");

      case "onTrainPhaseEnd":
        progress.next = "validation";
        if (progress.counters.batches === progress.epochAt.batches) return undefined;
        return emit(run, "onTrainPhaseEnd");

      case "validation": {
        const over = run.ending.outcome === "interrupted" ? this.#over() : undefined;
        return over ?? beginValidation(run);
      }

      case "validate":
        return validate(run);

      case "onValidationEnd":
        return endValidation(run);

      case "ramps":
        progress.next = "onEpochEnd";
        return run.means.followed ? this.#showRamps() : undefined;

      case "onEpochEnd":
        progress.next = "onEpochStart";
        return emit(run, "onEpochEnd");
    }
  }

  #beginEpoch(): unknown {
    const run = this.#run;
    const { progress, config, ending, ahead } = run;
    const last = progress.counters.epochs >= config.epochs;
    if (last && ahead === 0) ending.complete(undefined);
    const over = this.#over() ?? (last ? finished : undefined);
    if (over) return over;
    progress.set({ epoch: progress.counters.epochs });
    progress.epochAt = progress.counters;
    progress.segment = 0;
    progress.repeat = 0;
    progress.done = 0;
    progress.exhausted = false;
    if (isEmpty(this.#epoch.segments)) return this.#empty();
    progress.next = "segment";
    return emit(run, "onEpochStart");
  }

  #completeEpoch(): unknown {
    const { progress } = this.#run;
    if (progress.done === 0) return this.#empty();
    progress.set({ epochs: progress.counters.epochs + 1 });
    progress.next = "onTrainPhaseEnd";
    return undefined;
  }

  #empty(): typeof finished {
    const { progress, config, ending } = this.#run;
    if (config.onEmpty === "error") throw epochEmpty(progress.counters);
    ending.complete(`epoch ${progress.counters.epoch} has no batches`);
    return finished;
  }

  #leaveSegment(): void {
    this.#run.progress.segment++;
    this.#run.progress.repeat = 0;
  }

  /** Whether to ask for a validation in the middle of the epoch. After its last repeat the epoch's end does. */
  #validatesHere(): boolean {
    const { ahead, progress } = this.#run;
    const { segments } = this.#epoch;
    if (ahead > 0 || progress.exhausted || firstBusy(segments, progress.segment) >= segments.length)
      return false;
    return validationReached(this.#run, progress.counters);
  }

  async #showRamps(): Promise<void> {
    const { means, progress, warn, task, config } = this.#run;
    const validated = progress.since.onValidationEnd?.epochs === progress.counters.epochs;
    const never = !task.validate || config.validate.nextDue(progress.counters)?.length === 0;
    const none = never && progress.validation === undefined ? null : undefined;
    await means.observe(validated ? progress.validation : none, warn);
  }

  /**
   * Whether the run ends here; a promise where that is not known yet. What is done already cannot be left undone: an end
   * waits until the loop has come past it.
   */
  #over(): typeof finished | Promise<void> | undefined {
    const { ahead, ending, config, progress } = this.#run;
    if (ahead > 0) return undefined;
    const limit = ending.asked ? undefined : limitReached(config, progress.counters);
    if (limit !== undefined) ending.complete(limit);
    if (!ending.asked) return undefined;
    const { epoch, epochs } = progress.counters;
    const ends = ending.endsAt(progress.next === "onEpochStart" ? [epochs, -1] : [epoch, progress.done]);
    return ends === true ? finished : ends || undefined;
  }
}

const finished = Symbol("finished");
