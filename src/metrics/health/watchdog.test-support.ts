import { existsSync, readSync } from "node:fs";
import { Trainer, type TrainerHook } from "../../trainer/index.ts";
import { FakeTask, train } from "../../trainer/task.test-support.ts";
import { type WatchdogOptions, watchdogHook } from "./watchdog.ts";

/** A run in a process of its own that hangs in a way of its own, for `watchdog.test.ts`. */
const [, , mode = "", file = "", onExceeded = "exit"] = process.argv;

function spinForEver(): void {
  for (let i = 0; ; i++) if (i < 0) return;
}

const hangs: Readonly<Record<string, () => unknown>> = {
  loop: spinForEver,
  atomics: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  // Standard input is a pipe into which nobody writes.
  native: () => readSync(0, new Uint8Array(1)),
  promise: () => new Promise(() => setInterval(() => {}, 100_000)),
  exitHandler: () => {
    process.on("exit", spinForEver);
    spinForEver();
  },
  // Goes on when it has been reported.
  reported: function waitForReport() {
    while (!existsSync(file));
  },
  none: () => undefined,
};

const hang: TrainerHook = {
  name: "hang",
  onEpochEnd: function hangingHook({ counters }) {
    return counters.epochs === 2 ? hangs[mode]?.() : undefined;
  },
};
process.on("exit", () => process.stdout.write("exit handler\n"));
const deadlines: WatchdogOptions["deadlines"] = { hook: mode === "none" ? 600 : 0.3, any: 600 };
const trainer = new Trainer({
  task: new FakeTask({ epoch: () => [train(5)] }),
  config: { epochs: 3, name: "hanging", handleSignals: false },
  hooks: [
    hang,
    watchdogHook({
      deadlines,
      file,
      onExceeded:
        onExceeded === "function"
          ? ({ doing, phase, event }) => void process.stdout.write(`told: ${doing} ${phase} ${event}\n`)
          : (onExceeded as "exit" | "report"),
    }),
  ],
});
const { outcome } = await trainer.train();
process.stdout.write(`${outcome}\n`);
