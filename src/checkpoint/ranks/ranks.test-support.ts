import { every } from "../../schedule/index.ts";
import { checkpointHook } from "../hook/checkpoint-hook.ts";
import { hashesOf, trainerOf } from "../hook/runs.test-support.ts";

/**
 * One rank in a process of its own, for `ranks.test.ts`: three epochs of four updates, with a checkpoint each. `quitAt` is the
 * batch after which it is gone without a word.
 */
const [, , directory = "", rank = "0", ranks = "1", quitAt = "0", patience = "20"] = process.argv;
const { trainer, task } = trainerOf(
  [
    checkpointHook({
      directory,
      schedule: every({ epochs: 1 }),
      patience: Number(patience),
      keep: { last: 2 },
    }),
    {
      name: "quit",
      ranks: "all",
      onBatchEnd: ({ counters }) => {
        if (counters.batches === Number(quitAt)) process.kill(process.pid, "SIGKILL");
      },
    },
  ],
  { epochs: 3, rank: Number(rank), ranks: Number(ranks) },
);
// Each rank has numbers of its own.
task.w = 1 + Number(rank);
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
