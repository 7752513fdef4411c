import { expect, it } from "vitest";
import { manualClock } from "../../../core/index.ts";
import { consoleSink } from "./console-sink.ts";
import { countersAt, recordOf, runInfo } from "./records.test-support.ts";
import { Screen } from "./screen.test-support.ts";

/** The whole of a short run, as docs/logging.md shows it. */
it("shows a run of three windows on a terminal of 80 columns", async () => {
  const screen = new Screen(80);
  const clock = manualClock();
  const sink = consoleSink({ stream: screen, clock, env: {}, unicode: true, limit: 8 });
  const total = 4000;
  const show = (step: number): void => {
    for (let at = step - 900; at <= step; at += 100) {
      clock.advance(80);
      const left = (total - at) / 1234;
      sink.progress?.({ counters: countersAt(at), unit: "steps", done: at, total, rate: 1234, left });
    }
    const wave = Math.sin(step / 700);
    const records = [
      recordOf("train/loss", 620 / (step + 400), step),
      recordOf("train/accuracy", 1 - 210 / (step + 400), step),
      recordOf("train/grad_norm", 1.2 + 0.4 * wave, step),
      recordOf("train/lr", 0.001, step),
      recordOf("time/batch", 0.81 + 0.02 * wave, step, { unit: "ms" }),
      recordOf("system/memory", 412 + step / 100, step, { unit: "MB" }),
      recordOf("system/cpu", 96 + wave, step, { unit: "%" }),
      ...Array.from({ length: 9 }, (_, i) => recordOf(`layers/dense_${i}`, i + wave, step)),
    ];
    if (step === 2000)
      records.push(recordOf("valid/loss", 0.2913, step), recordOf("valid/accuracy", 0.9127, step));
    sink.write(records);
  };

  sink.open?.(runInfo);
  show(1000);
  show(2000);
  sink.message?.("saved checkpoint step-2000 (1.2 MB)");
  show(3000);
  await expect(`${screen.text()}\n`).toMatchFileSnapshot("./capture/running.txt");
  await sink.close?.({ outcome: "completed", counters: countersAt(4000, { epochs: 4, seconds: 3.24 }) });
  await expect(`${screen.text()}\n`).toMatchFileSnapshot("./capture/completed.txt");
});
