import { EspalierError } from "../core/index.ts";
import type { Loader, Run } from "../data/index.ts";
import { advanceCounters, type Counters } from "../schedule/index.ts";
import type { Segment, Span } from "../trainer/index.ts";
import type { Objective } from "./objective.ts";

/** A segment's place: updates of which size, from which example of the epoch on. */
export interface Stretch {
  readonly run: Run;
  readonly from: number;
}

/** What one update adds to the counters. */
export const addsOf = ({ size }: Run): Readonly<Record<string, number>> => ({
  batches: 1,
  updates: 1,
  samples: size,
});

/** The same with the task's own axis, for schedules of losses: a step is an update. */
export const addsWithSteps = (run: Run): Readonly<Record<string, number>> => ({ ...addsOf(run), steps: 1 });

/** An epoch as segments: full updates, then the smaller one; cut where the losses change. */
export function segmentsOf(
  loader: Loader,
  objective: Objective,
  counters: Counters,
  capacityOf: (run: Run) => number,
): readonly Segment[] {
  let at = counters;
  return loader.runs.flatMap((run) => {
    let from = run.from;
    const adds = addsWithSteps(run);
    const stretches = objective.stretches(at, adds, run.count);
    at = advanceCounters(at, adds, run.count);
    return stretches.map((repeats): Segment => {
      const data: Stretch = { run, from };
      from += repeats * run.size;
      return {
        phase: "train",
        repeats,
        adds: addsOf(run),
        fusesWithNext: false,
        maxFuse: capacityOf(run),
        data,
      };
    });
  });
}

/** The first example of a span; the loader must stand there, or at an epoch it has left in the middle. */
export function beginOf(loader: Loader, { segment, from }: Span): number {
  const stretch = segment.data as Stretch;
  const begin = stretch.from + from * stretch.run.size;
  if (begin !== loader.position && begin === 0) loader.startNext();
  if (begin === loader.position) return begin;
  throw new EspalierError(
    "DATA_POSITION",
    `asked for the batch at example ${begin} of the epoch, and the data is at example ${loader.position}`,
    { fix: "restore the component data together with the trainer's state" },
  );
}
