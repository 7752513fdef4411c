import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { busyShare, type Machine, machineLines } from "./machine.ts";

it("sees processors that are busy", async () => {
  const spinning = Array.from(
    { length: availableParallelism() },
    () => new Worker("require('node:worker_threads').parentPort.postMessage(0); for (;;);", { eval: true }),
  );
  await Promise.all(spinning.map((worker) => new Promise((resolve) => worker.once("message", resolve))));
  try {
    expect(await busyShare(1000)).toBeGreaterThan(0.5);
  } finally {
    await Promise.all(spinning.map((worker) => worker.terminate()));
  }
});

it("tells of a busy machine beside its figures", () => {
  const hardware = { cpu: "cpu", cores: 2, memoryGB: 4, system: "linux x64" };
  const machine: Machine = { ...hardware, node: "20", engines: {}, peers: {} };
  expect(machineLines({ ...machine, busy: 0.02 })).toEqual(machineLines(machine));
  expect(machineLines({ ...machine, busy: 0.471 }).join()).toMatch(/47 %/);
});
