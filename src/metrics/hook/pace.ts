import type { Counters } from "../../schedule/index.ts";
import type { PhaseTiming, TrainerContext } from "../../trainer/index.ts";

interface Look {
  readonly counters: Counters;
  readonly seconds: number;
  readonly phases: Readonly<Record<string, PhaseTiming>>;
  /** Milliseconds by hook. */
  readonly hooks: ReadonlyMap<string, number>;
}

/**
 * How fast a run is and what its time goes to, over the stretch since the last look.
 *
 * There is one definition of throughput: samples, or steps, completed by the second of wall time, everything included:
 * training, validation, hooks, compiling. Phases and hooks are shares of the same time. A phase's time is that of the
 * host: a device that works on its own may still be busy with what it was given.
 */
export class Pace {
  #last: Look;
  /** How long the stretch before was. */
  #stretch = 0;

  /** Begins to count. */
  constructor(context: TrainerContext) {
    this.#last = lookOf(context);
  }

  /** What has been since the last look; nothing where no time has passed. */
  look(context: TrainerContext): Readonly<Record<string, number>> {
    const now = lookOf(context);
    const last = this.#last;
    this.#last = now;
    const seconds = now.seconds - last.seconds;
    this.#stretch = seconds;
    return seconds > 0 ? shares(last, now, seconds) : {};
  }

  /**
   * The same at the end of a run, but nothing of a stretch that is much shorter than the one before: in a mean over
   * several it would count for more than it is.
   */
  end(context: TrainerContext): Readonly<Record<string, number>> {
    const seconds = context.clock.now() / 1000 - this.#last.seconds;
    return seconds >= this.#stretch / 2 ? this.look(context) : {};
  }
}

function shares(last: Look, now: Look, seconds: number): Readonly<Record<string, number>> {
  const found: Record<string, number> = {
    samplesPerSecond: (now.counters.samples - last.counters.samples) / seconds,
    stepsPerSecond: (now.counters.steps - last.counters.steps) / seconds,
  };
  for (const [phase, timing] of Object.entries(now.phases))
    if (timing.calls > 0)
      found[`phases/${phase}`] = (timing.seconds - (last.phases[phase]?.seconds ?? 0)) / seconds;
  for (const [hook, total] of now.hooks)
    if (total > 0) found[`hooks/${hook}`] = (total - (last.hooks.get(hook) ?? 0)) / 1000 / seconds;
  return found;
}

const lookOf = ({ counters, clock, timings, hookTimings }: TrainerContext): Look => ({
  counters,
  seconds: clock.now() / 1000,
  phases: timings,
  hooks: new Map(hookTimings.map(({ hook, total }) => [hook, total])),
});
