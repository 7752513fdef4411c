/**
 * Progress of a run. `epoch` is the index of the epoch now, from 0; the others count what is completed. A host
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

/** The counters of any host before its first batch: those that it has of its own are 0 too. */
export const anyCounters = new Proxy(noCounters, { get: (counters, name) => counters[name as string] ?? 0 });

/** True where a run has done the same work at both. */
export const isSameWork = (a: Counters, b: Counters): boolean =>
  a.batches === b.batches && a.updates === b.updates && a.samples === b.samples;

/** Counters without seconds, which no two runs share. */
export const timeless = ({ seconds: _, ...counts }: Counters): Readonly<Record<string, number>> => counts;

/** True for the counters of a run that has done anything. */
export const hasBegun = (counters: Counters): boolean =>
  Object.values(timeless(counters)).some((count) => count > 0);

/** Amounts that one batch, or one repeat of a rollout, adds to counters: by name, in whole numbers. */
export type Adds = Readonly<Record<string, number>>;

/**
 * The counters after `times` repeats that each add `adds`. Amounts are whole numbers, so that how repeats are cut
 * changes no sum. `seconds` is the time at the new counters. Default: that of the old ones.
 */
export function advanceCounters(
  counters: Counters,
  adds: Adds,
  times: number,
  seconds: number = counters.seconds,
): Counters {
  const next: { -readonly [K in keyof Counters]: Counters[K] } = { ...counters };
  for (const name in adds) next[name] = (next[name] ?? 0) + (adds[name] as number) * times;
  next.seconds = seconds;
  return next;
}
