import { EspalierError } from "../core/index.ts";
import { Dispatch } from "./dispatch.ts";
import { limitReached } from "./fuse.ts";
import type { Run } from "./run.ts";
import { firstBusy, isEmpty, type Segment } from "./task.ts";
import { measure, validationDue, validationReached } from "./validation.ts";

/**
 * The training loop. `train()` runs onTrainingStart before it, and the last validation, onError and onTrainingEnd after
 * it.
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
 *                   task.run()            this batch, and those after it that no hook watches
 *                   onBatchEnd
 *     after each:  onValidationStart      when due by updates, samples, ...: see validation.ts
 *                    task.validate()
 *                  onValidationEnd
 *     after each call, before the end event of its last repeat:
 *                 onBatchesEnd            its metrics, stacked
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
 * on after that event, and a restored run has no event twice. An end that was asked for takes effect before the next
 * rollout, batch or epoch begins; an interrupt also before a validation. Ranks that end together go on, one repeat at a
 * time, until they have come to the position that all of them agree on.
 */
export class TrainingLoop {
  readonly #run: Run;
  readonly #dispatch: Dispatch;

  constructor(run: Run) {
    this.#run = run;
    this.#dispatch = new Dispatch(run);
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
        const { segments } = run;
        const index = progress.exhausted ? segments.length : firstBusy(segments, progress.segment);
        progress.enterSegment(index);
        const segment = segments[index];
        if (!segment) return this.#completeEpoch();
        progress.next = segment.phase === "rollout" ? "onRolloutStart" : "onBatchStart";
        return undefined;
      }

      case "onRolloutStart":
      case "onBatchStart": {
        const ends = this.#ends();
        if (ends) return ends;
        const event = progress.next;
        progress.next = "work";
        return run.emit(event);
      }

      case "work":
        return this.#work(run.segments[progress.segment] as Segment);

      case "onBatchEnd": {
        const { repeats } = run.segments[progress.segment] as Segment;
        if (progress.repeat < repeats && !progress.exhausted) progress.next = "onBatchStart";
        else {
          progress.next = "segment";
          progress.leaveSegment();
        }
        if (this.#validatesHere()) progress.next = "validation";
        return run.emit("onBatchEnd");
      }

      case "onRolloutEnd":
        progress.next = "segment";
        progress.leaveSegment();
        if (this.#validatesHere()) progress.next = "validation";
        return run.emit("onRolloutEnd");

      case "onTrainPhaseEnd":
        progress.next = "validation";
        if (progress.counters.batches === progress.epochAt.batches) return undefined;
        return run.emit("onTrainPhaseEnd");

      case "validation": {
        const ends = run.ending.outcome === "interrupted" ? this.#ends() : undefined;
        if (ends) return ends;
        const due = validationDue(run);
        progress.next = due ? "validate" : this.#afterValidation();
        return due ? run.emit("onValidationStart") : undefined;
      }

      case "validate":
        return this.#validate();

      case "onValidationEnd":
        progress.next = this.#afterValidation();
        return run.emit("onValidationEnd");

      case "ramps":
        progress.next = "onEpochEnd";
        return run.means.followed ? this.#showRamps() : undefined;

      case "onEpochEnd":
        progress.next = "onEpochStart";
        return run.emit("onEpochEnd");
    }
  }

  #beginEpoch(): unknown {
    const run = this.#run;
    const { progress, config, ending } = run;
    const last = progress.counters.epochs >= config.epochs;
    if (last && run.ahead === 0) ending.complete(undefined);
    const ends = this.#ends() ?? (last ? finished : undefined);
    if (ends) return ends;
    progress.beginEpoch();
    if (isEmpty(run.segments)) return this.#endEmpty();
    progress.next = "segment";
    return run.emit("onEpochStart");
  }

  /** Does work, or passes work that the last call has done already. */
  #work(segment: Segment): unknown {
    const run = this.#run;
    const ends = segment.phase === "rollout" && run.progress.repeat > 0 ? this.#ends() : undefined;
    if (ends) return ends;
    run.enter(segment.phase);
    if (run.ahead > 0) return this.#pass(segment);
    const calling = this.#dispatch.call(run.segments);
    return calling ? calling.then(() => this.#pass(segment)) : this.#pass(segment);
  }

  #pass(segment: Segment): unknown {
    const run = this.#run;
    const { progress } = run;
    const passed = this.#dispatch.pass(segment);
    if (segment.phase === "train") progress.next = passed > 0 ? "onBatchEnd" : "segment";
    else progress.next = progress.repeat === segment.repeats || progress.exhausted ? "onRolloutEnd" : "work";
    return passed > 0 && run.ahead === 0 ? run.emit("onBatchesEnd") : undefined;
  }

  #completeEpoch(): unknown {
    const { progress } = this.#run;
    if (progress.done === 0) return this.#endEmpty();
    progress.completeEpoch();
    progress.next = "onTrainPhaseEnd";
    return undefined;
  }

  /** Ends the run at an epoch that has nothing to do. */
  #endEmpty(): typeof finished {
    const { progress, config, ending } = this.#run;
    const { epoch } = progress.counters;
    if (config.onEmpty === "error")
      throw new EspalierError("EPOCH_EMPTY", `epoch ${epoch} has no batches: the task has no data`, {
        fix: 'give the task data (of a stream at least one whole batch), or set onEmpty: "finish" to end the run there',
      });
    ending.complete(`epoch ${epoch} has no batches`);
    return finished;
  }

  /** True where a validation in the middle of the epoch may be due. After the last repeat the epoch's end asks. */
  #validatesHere(): boolean {
    const { ahead, progress, segments } = this.#run;
    if (ahead > 0 || progress.exhausted || firstBusy(segments, progress.segment) >= segments.length)
      return false;
    return validationReached(this.#run, progress.counters);
  }

  async #validate(): Promise<void> {
    const { progress, means } = this.#run;
    await measure(this.#run);
    if (progress.validation) means.validated(progress.validation);
    progress.next = "onValidationEnd";
  }

  /** Between batches the epoch goes on; at its end, where it counts as completed, ramps observe its means. */
  #afterValidation(): "ramps" | "segment" {
    const { epochs, epoch } = this.#run.progress.counters;
    return epochs > epoch ? "ramps" : "segment";
  }

  async #showRamps(): Promise<void> {
    const { means, progress, warn, task, config } = this.#run;
    const validated = progress.since.onValidationEnd?.epochs === progress.counters.epochs;
    const never = !task.validate || config.validate.nextDue(progress.counters)?.length === 0;
    const none = never && progress.validation === undefined ? null : undefined;
    await means.observe(validated ? progress.validation : none, warn);
  }

  /**
   * Tells where the run ends here; a promise where that is not known yet. Work that a call has done cannot be undone: an
   * end waits until the loop has passed it.
   */
  #ends(): typeof finished | Promise<void> | undefined {
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
