import { expect, it } from "vitest";
import { temporaryDirectory } from "../../checkpoint/hook/runs.test-support.ts";
import { Trainer } from "../../trainer/index.ts";
import { FakeTask, train } from "../../trainer/task.test-support.ts";
import { controlHook, watchdogHook } from "../index.ts";
import { ask, stateOf, turns, until } from "./control.test-support.ts";

it("a run that is paused does not hang: a watchdog says nothing", { timeout: 120_000 }, async () => {
  const directory = temporaryDirectory();
  const reports: unknown[] = [];
  const watchdog = watchdogHook({ deadlines: { any: 4 }, onExceeded: (report) => void reports.push(report) });
  const trainer = new Trainer({
    task: new FakeTask({ epoch: () => [train(40)] }),
    hooks: [turns, watchdog, controlHook({ directory, pollEvery: 10 })],
    config: { epochs: 1e9, handleSignals: false },
    warn: () => undefined,
  });
  const result = trainer.train();
  await ask(directory, { action: "pause" });
  // Its state is written every second: as often as it takes to be longer than the deadline.
  const walls = new Set<number>();
  await until(() => (walls.add(stateOf(directory).wall).size > 7 ? true : undefined));
  await ask(directory, { action: "resume" });
  await ask(directory, { action: "stop" });
  await result;
  expect(reports).toEqual([]);
});
