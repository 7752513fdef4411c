// Shows a run on its standard output, without a pause, and ends as its argument says. Standard error gets the rest.
import { consoleSink } from "./console-sink.ts";
import { countersAt, progressAt, recordOf } from "./records.test-support.ts";

const [how, windows] = process.argv.slice(2);
const listeners = process.stdout.listenerCount("error");
const sink = consoleSink();

for (let step = 1; step <= Number(windows); step++) {
  sink.progress?.(progressAt(step, { rate: undefined }));
  sink.write([recordOf("train/loss", step, step), recordOf("train/accuracy", 0.5, step)]);
}
if (how === "exit") process.exit(3);
if (how === "throw") throw new Error("thrown on purpose");
if (how === "kill") process.kill(process.pid, "SIGKILL");
sink.message?.("nearly done");
await sink.close?.({ outcome: "completed", counters: countersAt(Number(windows)) });
const left = process.stdout.listenerCount("error") - listeners;
process.stderr.write(`trained ${windows}, listeners left: ${left}\n`);
