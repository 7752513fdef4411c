import type { Phase } from "./task.ts";

/** What time is counted under: `fused` is rollouts and batches in one call. */
export type TimedPhase = Phase | "fused" | "validation";

/** How often a phase ran, and how long it took. */
export interface PhaseTiming {
  /** Calls of the task. */
  readonly calls: number;
  /** Of the host: a device that works on its own may still be busy with what was handed to it. */
  readonly seconds: number;
}

/** How long each phase took so far in this process. Hooks have timings of their own. */
export type PhaseTimings = Readonly<Record<TimedPhase, PhaseTiming>>;

/** Gathers the time of each phase: two readings of the clock a call. */
export class PhaseClock {
  readonly #calls: Record<TimedPhase, number> = { rollout: 0, train: 0, fused: 0, validation: 0 };
  readonly #milliseconds: Record<TimedPhase, number> = { rollout: 0, train: 0, fused: 0, validation: 0 };

  add(phase: TimedPhase, milliseconds: number): void {
    this.#calls[phase]++;
    this.#milliseconds[phase] += milliseconds;
  }

  read(): PhaseTimings {
    const timing = (phase: TimedPhase): PhaseTiming => ({
      calls: this.#calls[phase],
      seconds: this.#milliseconds[phase] / 1000,
    });
    return {
      rollout: timing("rollout"),
      train: timing("train"),
      fused: timing("fused"),
      validation: timing("validation"),
    };
  }
}
