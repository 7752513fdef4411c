/**
 * How far a run has come. `epoch` is the index of the epoch now, from 0; the others count what is completed. A host
 * may add counters of its own (`episodes`), which schedules then understand as units.
 */
export interface Counters {
  readonly epoch: number;
  readonly epochs: number;
  readonly batches: number;
  /** Optimizer steps attempted. */
  readonly updates: number;
  /** Examples, tokens or agent steps: what the task says its samples are. */
  readonly samples: number;
  /** The host's own axis: what "steps" means where nothing else is said. */
  readonly steps: number;
  /** Seconds of the run by the injected clock, resumed runs counted from where they stopped. */
  readonly seconds: number;
  readonly [own: string]: number;
}

/** Names of counters that schedules and ramps can be written in. `epoch` is an index, so it is not one. */
export type Unit =
  | "epochs"
  | "batches"
  | "updates"
  | "samples"
  | "steps"
  | "seconds"
  | (string & Record<never, never>);

/** A run before its first batch. */
export const noCounters: Counters = {
  epoch: 0,
  epochs: 0,
  batches: 0,
  updates: 0,
  samples: 0,
  steps: 0,
  seconds: 0,
};
