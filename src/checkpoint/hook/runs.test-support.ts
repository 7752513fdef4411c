import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { hashState } from "../../state/index.ts";
import { Trainer, type TrainerHook, type TrainingConfig } from "../../trainer/index.ts";
import { FakeTask, type FakeTaskOptions, train } from "../../trainer/task.test-support.ts";
import type { CheckpointStore, CheckpointWriter } from "../index.ts";

/** A directory that is gone when the test is over. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), "espalier-checkpoint-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A trainer of the task that computes next to nothing: four batches an epoch. */
export function trainerOf(
  hooks: readonly TrainerHook[],
  config: Partial<TrainingConfig> = {},
  options: FakeTaskOptions = {},
) {
  const task = new FakeTask({ epoch: () => [train(4)], validate: true, ...options });
  const warnings: string[] = [];
  const trainer = new Trainer({
    task,
    hooks,
    config: { epochs: 3, handleSignals: false, ...config },
    warn: (text) => void warnings.push(text),
  });
  return { trainer, task, warnings };
}

/** A hook whose state depends on every event that it hears of. */
export function countingHook(
  name: string,
  more: Partial<TrainerHook> = {},
): TrainerHook & { readonly heard: string[] } {
  let sum = 0;
  const heard: string[] = [];
  const count = ({
    event,
    counters,
  }: {
    readonly event: string;
    readonly counters: { readonly batches: number };
  }) => {
    sum = (sum * 31 + counters.batches + event.length) % 1_000_003;
    heard.push(`${event} ${counters.batches}`);
  };
  return {
    name,
    heard,
    state: {
      getState: () => sum,
      setState: (state) => {
        sum = state as number;
      },
    },
    onBatchEnd: count,
    onValidationEnd: count,
    onEpochEnd: count,
    ...more,
  };
}

/** Stops the run after so many batches. */
export const stopAt = (batches: number): TrainerHook => ({
  name: "stop",
  onBatchEnd: ({ counters, stop }) => (counters.batches === batches ? stop("enough") : undefined),
});

/** A hash a component, but for the time, which no two runs share. */
export async function hashesOf({
  components,
}: Pick<Trainer, "components">): Promise<Readonly<Record<string, string>>> {
  const hashes: Record<string, string> = {};
  for (const [name, part] of Object.entries(components))
    if (name !== "time") hashes[name] = await hashState(await part.getState());
  return hashes;
}

/** The same store with something before each commit: a wait, a failure. */
export function beforeCommit(
  store: CheckpointStore,
  commit: (name: string) => void | Promise<void>,
): CheckpointStore {
  const wrapped = (name: string, writer: CheckpointWriter): CheckpointWriter => ({
    ...writer,
    commit: async () => {
      await commit(name);
      await writer.commit();
    },
  });
  return {
    ...store,
    lock: async (holder) => {
      const lock = await store.lock(holder);
      return { ...lock, begin: async (name) => wrapped(name, await lock.begin(name)) };
    },
  };
}
