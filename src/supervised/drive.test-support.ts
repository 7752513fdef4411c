import { read, type Tensor } from "../engine/index.ts";
import { type Counters, noCounters } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import type { Task } from "../trainer/task.ts";

export interface Drive {
  readonly epochs: number;
  /** The most repeats in one call. */
  readonly atMost?: number;
  /** Ends after so many batches. */
  readonly stopAfter?: number;
  /** Where to go on; epochs are counted with what is done. */
  readonly from?: Counters & { readonly done: number };
}

/** Some numbers as examples. */
export const examples = (x: readonly number[], y: readonly number[]) => ({
  x: { data: numbers(x, 1), shape: x },
  y: { data: numbers(y, 2), shape: y },
});

const numbers = (shape: readonly number[], seed: number): Float32Array =>
  Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) =>
    Math.sin(i * 12.9898 + seed * 78.233),
  );

/** A trainer without hooks: epoch by epoch, in calls as large as allowed. */
async function run(task: Task, { epochs, atMost = 1000, stopAfter = Infinity, from }: Drive) {
  let at: Counters = from ?? noCounters;
  let skip = from?.done ?? 0;
  let [batches, calls] = [0, 0];
  const columns: Record<string, number[]> = {};
  const applied: number[] = [];
  const signal = new AbortController().signal;
  for (let epoch = at.epoch; epoch < epochs && batches < stopAfter; epoch++) {
    at = { ...at, epoch };
    const segments = task.epoch(at);
    for (const [index, segment] of segments.entries()) {
      let done = Math.min(skip, segment.repeats);
      skip -= done;
      while (done < segment.repeats && batches < stopAfter) {
        const count = Math.min(atMost, segment.maxFuse, segment.repeats - done, stopAfter - batches);
        const ramps = Object.fromEntries(
          Object.entries(task.ramps).map(([name, ramp]) => [
            name,
            Float32Array.from({ length: count }, (_, i) => ramp.at(after(at, segment.adds, i))),
          ]),
        );
        const span = { segment, index, from: done, count, at };
        const report = await task.run({ at, spans: [span], count, ramps, signal });
        for (const [name, rows] of Object.entries(await read(report.metrics)))
          columns[name] = [...(columns[name] ?? []), ...rows.subarray(0, count)];
        if (report.applied) applied.push(...(await (report.applied as Tensor).read()).subarray(0, count));
        at = after(at, segment.adds, count);
        done += count;
        batches += count;
        calls++;
      }
    }
    if (batches < stopAfter) at = { ...at, epochs: epoch + 1 };
  }
  const states = async (): Promise<StateTree> => (await task.snapshot()).components;
  const values: Readonly<Record<string, readonly number[] | undefined>> = columns;
  return { values, applied, calls, states, at: { ...at, done: inEpoch(task, at) } };
}

/** Batches done of the epoch under way. */
function inEpoch(task: Task, at: Counters): number {
  const each = task.epoch(noCounters).reduce((sum, { repeats }) => sum + repeats, 0);
  return at.batches - at.epochs * each;
}

function after(at: Counters, adds: Readonly<Record<string, number>>, times: number): Counters {
  const moved = Object.entries(adds).map(([unit, by]) => [unit, (at[unit] ?? 0) + by * times]);
  return { ...at, ...Object.fromEntries(moved) };
}

export const drive = Object.assign(run, { start: noCounters });
