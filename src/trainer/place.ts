import type { Counters } from "../schedule/index.ts";
import type { TrainerEvent } from "./events.ts";

/** Moments that schedules are asked at: the events, and the question whether to validate. */
export type Occasion = TrainerEvent | "validation";

/** What the loop does, in the order in which it does it: see `training-loop.ts`. */
export const steps = [
  "onEpochStart",
  "segment",
  "onRolloutStart",
  "onBatchStart",
  "work",
  "onBatchEnd",
  "onRolloutEnd",
  "onTrainPhaseEnd",
  "validation",
  "validate",
  "onValidationEnd",
  "ramps",
  "onEpochEnd",
] as const;

export type Step = (typeof steps)[number];

/** Where in an epoch the run is. `next` is what the loop does next, so that a state taken in any event goes on after it. */
export interface Place {
  readonly next: Step;
  readonly segment: number;
  /** Repeats of that segment done, and repeats of the epoch done. */
  readonly repeat: number;
  readonly done: number;
  /** Whether the source ended early. */
  readonly exhausted: boolean;
  /** Counters at the epoch's beginning. */
  readonly epochAt: Counters;
}
