import { every } from "../../schedule/index.ts";
import { checkpointHook } from "../hook/checkpoint-hook.ts";
import { hashesOf, trainerOf } from "../hook/runs.test-support.ts";

/** What a rank in a process of its own is started with, as JSON. */
export interface RankRunOptions {
  readonly directory: string;
  readonly rank: number;
  readonly ranks: number;
  /** The batch after which it is gone without a word. */
  readonly quitAt?: number;
  /** The batch after which it says so and stays where it is. */
  readonly waitAt?: number;
  readonly patience?: number;
  /** Saves after so many updates, not after every epoch. */
  readonly updates?: number;
  /** Trains to so many updates instead of three epochs, for signals to come: says so after five batches. */
  readonly maxUpdates?: number;
  /** Milliseconds that a batch takes. */
  readonly slow?: number;
}

/** One rank in a process of its own, for `ranks.test.ts`: three epochs of four updates, with checkpoints. */
const options = JSON.parse(process.argv[2] ?? "{}") as RankRunOptions;
const { directory, rank, ranks, quitAt, waitAt, patience = 20, updates, maxUpdates, slow } = options;
const { trainer, task, warnings } = trainerOf(
  [
    checkpointHook({
      directory,
      schedule: every(updates === undefined ? { epochs: 1 } : { updates }),
      patience,
      keep: { last: 2 },
    }),
    {
      name: "quit",
      ranks: "all",
      onBatchEnd: ({ counters }) => {
        if (counters.batches === quitAt) process.kill(process.pid, "SIGKILL");
        if (maxUpdates !== undefined && counters.batches === 5) process.stdout.write("training\n");
        // Signals are heard between turns of the event loop.
        if (counters.batches !== waitAt)
          return maxUpdates === undefined
            ? undefined
            : new Promise<void>((resolve) => (slow ? setTimeout(resolve, slow) : setImmediate(resolve)));
        process.stdout.write("waiting\n");
        return new Promise(() => setInterval(() => {}, 1000));
      },
    },
  ],
  maxUpdates === undefined
    ? { epochs: 3, rank, ranks }
    : { epochs: Number.POSITIVE_INFINITY, maxUpdates, rank, ranks, handleSignals: true },
);
// Each rank has numbers of its own.
task.w = 1 + rank;
let resumedAt = 0;
trainer.registerHook({
  name: "look",
  ranks: "all",
  onTrainingStart: ({ counters }) => {
    resumedAt = counters.batches;
  },
});
try {
  const { outcome, counters } = await trainer.train();
  const { batches } = counters;
  const hashes = await hashesOf(trainer);
  process.stdout.write(JSON.stringify({ resumedAt, w: task.w, hashes, outcome, batches, warnings }));
} catch (error) {
  process.stdout.write(JSON.stringify({ resumedAt, error: String(error) }));
}
