import { appendFileSync } from "node:fs";
import { FakeTask, train } from "./task.test-support.ts";
import { Trainer } from "./trainer.ts";

/**
 * A run of many batches for `signals.test.ts`, in a process of its own. It says what happens on standard output;
 * with "hang" its end event ends only when a SIGHUP comes, with "talk" it writes at every batch.
 */
const say = (line: string) => {
  process.stdout.write(`${line}\n`);
  if (process.env.SIGNALS_LOG) appendFileSync(process.env.SIGNALS_LOG, `${line}\n`);
};
const talk = process.argv.includes("talk");
const hang = process.argv.includes("hang");

const before = process.listenerCount("SIGINT");
const trainer = new Trainer({
  task: new FakeTask({ epoch: () => [train(1_000_000)] }),
  config: { epochs: 1_000 },
  hooks: [
    {
      name: "reporter",
      onBatchEnd: ({ counters }) => {
        if (counters.batches === 5) say("training");
        else if (talk) process.stdout.write(".");
      },
      onEpochEnd: () => void say("epoch ended"),
      onTrainingEnd: ({ outcome, reason }) => {
        say(`end: ${outcome}, ${reason}`);
        if (!hang) return undefined;
        // The interval keeps the process: a promise alone does not.
        const alive = setInterval(() => {}, 1000);
        return new Promise<void>((resolve) => {
          process.once("SIGHUP", () => {
            clearInterval(alive);
            resolve();
          });
        });
      },
      onUnregister: (why) => void say(`cleaned up: ${why}`),
    },
  ],
});
const listening = trainer.train();
say(`handlers while training: ${process.listenerCount("SIGINT") - before}`);
const { outcome, counters } = await listening;
say(`handlers after: ${process.listenerCount("SIGINT") - before}`);
say(`result: ${outcome}, whole batches: ${Number.isInteger(counters.batches) && counters.batches >= 5}`);
