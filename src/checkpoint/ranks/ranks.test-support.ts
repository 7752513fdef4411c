import { every } from "../../schedule/index.ts";
import { checkpointHook } from "../hook/checkpoint-hook.ts";
import { hashesOf, trainerOf } from "../hook/runs.test-support.ts";

/** What a rank in a process of its own is started with, as JSON. */
export interface RankOptions {
  readonly directory: string;
  readonly rank: number;
  readonly ranks: number;
  /** The batch after which it is gone without a word. */
  readonly quitAt?: number;
  /** The batch after which it says so and stays where it is. */
  readonly waitAt?: number;
  readonly patience?: number;
  /** Saves after every update, not after every epoch. */
  readonly often?: boolean;
}

/** One rank in a process of its own, for `ranks.test.ts`: three epochs of four updates, with checkpoints. */
const options = JSON.parse(process.argv[2] ?? "{}") as RankOptions;
const { directory, rank, ranks, quitAt, waitAt, patience = 20, often } = options;
const { trainer, task } = trainerOf(
  [
    checkpointHook({
      directory,
      schedule: every(often ? { updates: 1 } : { epochs: 1 }),
      patience,
      keep: { last: 2 },
    }),
    {
      name: "quit",
      ranks: "all",
      onBatchEnd: ({ counters }) => {
        if (counters.batches === quitAt) process.kill(process.pid, "SIGKILL");
        if (counters.batches !== waitAt) return undefined;
        process.stdout.write("waiting\n");
        return new Promise(() => setInterval(() => {}, 1000));
      },
    },
  ],
  { epochs: 3, rank, ranks },
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
  await trainer.train();
  process.stdout.write(JSON.stringify({ resumedAt, w: task.w, hashes: await hashesOf(trainer) }));
} catch (error) {
  process.stdout.write(JSON.stringify({ resumedAt, error: String(error) }));
}
