import { type CheckpointStore, checkpointHook, memoryStore } from "../checkpoint/index.ts";
import { every } from "../schedule/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { TrainerContext, TrainerEvent, TrainerHook } from "./events.ts";
import type { Frozen, Task } from "./task.ts";
import { Trainer } from "./trainer.ts";

/** A way to cut the same work. */
export interface Cut {
  readonly fuse?: boolean | number;
  readonly hooks?: readonly TrainerHook[];
  readonly store?: CheckpointStore;
}

const watched = (updates: number): TrainerHook => ({
  name: "watched",
  schedule: every({ updates }),
  onBatchEnd: () => {},
});

/** One at a time, by threes, where hooks watch, where checkpoints are taken, and all at once. */
export const cuts = (): Readonly<Record<string, Cut>> => ({
  single: { fuse: false },
  threes: { fuse: 3 },
  watched: { hooks: [watched(2)] },
  saved: { store: memoryStore() },
  fused: {},
});

/** How a run failed: what it was told, and the counters that the result and handlers see, but for seconds. */
export const failureOf = (task: Task, cut: Cut, config: Partial<TrainingConfig>) =>
  failuresOf(task, config)(cut);

/** The same for several runs of one task, each from where the first began: its programs are compiled once. */
export function failuresOf(task: Task, config: Partial<TrainingConfig>) {
  let start: Frozen | undefined;
  const begin = async ({ snapshot, components }: TrainerContext): Promise<void> => {
    const states = Object.entries(start?.components ?? {});
    start ??= await snapshot(Object.keys(task.components));
    for (const [name, state] of states) await components[name]?.setState(state);
  };
  return (cut: Cut) => failure(task, cut, config, begin);
}

async function failure(
  task: Task,
  { fuse = true, hooks = [], store }: Cut,
  config: Partial<TrainingConfig>,
  begin: (context: TrainerContext) => Promise<void>,
) {
  const seen: Partial<Record<TrainerEvent, object>> = {};
  const note = ({ event, counters }: TrainerContext & { readonly event: string }): void => {
    seen[event as TrainerEvent] = timeless(counters);
  };
  const warnings: string[] = [];
  const trainer = new Trainer({
    task,
    config: { handleSignals: false, fuse, ...config },
    hooks: [
      { name: "seen", onTrainingStart: begin, onError: note, onTrainingEnd: note },
      ...(store ? [checkpointHook({ store, schedule: every({ updates: 2 }) })] : []),
      ...hooks,
    ],
    warn: (text) => void warnings.push(text),
  });
  const thrown = await trainer.train().then(
    () => undefined,
    (error: unknown) => error,
  );
  const { outcome, counters, error } = trainer.result ?? {};
  const { code, message } = (error ?? {}) as { readonly code?: string; readonly message?: string };
  const result = counters && timeless(counters);
  return { outcome, code, message, same: thrown === error, counters: result, seen, warnings };
}

function timeless({ seconds: _, ...rest }: TrainerContext["counters"]): Readonly<Record<string, number>> {
  return rest as Readonly<Record<string, number>>;
}
