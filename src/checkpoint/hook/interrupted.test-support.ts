import { every } from "../../schedule/index.ts";
import { checkpointHook } from "./checkpoint-hook.ts";
import { countingHook, trainerOf } from "./runs.test-support.ts";

/** A run in a process of its own, which says when it trains and is then sent a signal by `interrupted.test.ts`. */
const [, , directory = ""] = process.argv;
const { trainer } = trainerOf(
  [
    checkpointHook({ directory, schedule: every({ updates: 7 }) }),
    countingHook("counts"),
    {
      name: "reporter",
      onBatchEnd: async ({ counters }) => {
        if (counters.batches === 5) process.stdout.write("training\n");
        // Signals are heard between turns of the event loop.
        await new Promise((resolve) => setImmediate(resolve));
      },
    },
  ],
  { epochs: Number.POSITIVE_INFINITY, handleSignals: true },
);
const { outcome, counters } = await trainer.train();
process.stdout.write(`${outcome} ${counters.batches}\n`);
