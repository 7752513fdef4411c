import { didYouMean, EspalierError } from "../core/index.ts";
import { type Counters, noCounters } from "../schedule/index.ts";
import type { Segment, Task } from "./task.ts";

/** Counters that only the trainer moves. */
const reserved = ["epoch", "epochs", "seconds", "steps"];

/** A run before its first batch, the task's own counters included. */
export function firstCounters(task: Task): Counters {
  return { ...noCounters, ...Object.fromEntries((task.counters ?? []).map((name) => [name, 0])) };
}

/** What an epoch consists of, checked, with `batches: 1` and the steps filled in. */
export function segmentsOf(task: Task, at: Counters): readonly Segment[] {
  return task.epoch(at).map((segment, index) => {
    const { phase, repeats, maxFuse, adds } = segment;
    if (phase !== "rollout" && phase !== "train")
      throw invalid(index, `its phase is "${phase}"`, 'write "rollout" or "train"');
    if (!isCount(repeats)) throw invalid(index, `it has ${repeats} repeats`, "give a whole number from 0 on");
    if (!(maxFuse >= 1)) throw invalid(index, `its maxFuse is ${maxFuse}`, "give 1 or more");
    for (const [name, amount] of Object.entries(adds)) {
      if (reserved.includes(name) || !(name in at)) {
        const known = Object.keys(at).filter((each) => !reserved.includes(each));
        throw invalid(
          index,
          `it adds to "${name}"${didYouMean(name, known)}`,
          `add to ${known.join(", ")}, or list the task's own counters in its \`counters\``,
        );
      }
      if (!isCount(amount))
        throw invalid(index, `it adds ${amount} to ${name}`, "add whole numbers from 0 on");
    }
    const all: Readonly<Record<string, number>> = phase === "train" ? { batches: 1, ...adds } : { ...adds };
    return { ...segment, adds: { ...all, steps: all[task.stepUnit] ?? 0 } };
  });
}

/** Whether there is nothing to do. */
export const isEmpty = (segments: readonly Segment[]): boolean =>
  segments.every(({ repeats }) => repeats === 0);

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

const invalid = (index: number, what: string, fix: string): EspalierError =>
  new EspalierError("TASK_INVALID", `segment ${index} of the task's epoch cannot be run: ${what}`, { fix });
