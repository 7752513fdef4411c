import { describe, expect, it } from "vitest";
import type { Subject } from "./figure.ts";
import { measureInTurn } from "./measure.ts";

/** Work whose steps take a known time, noting who ran when. */
function pretend(name: string, secondsPerStep: number, log: [string, number][]): Subject {
  return {
    run: async (steps) => {
      log.push([name, steps]);
      return steps * secondsPerStep;
    },
  };
}

describe("measureInTurn", () => {
  it("gives every subject a batch in every round, first one way, then the other", async () => {
    const log: [string, number][] = [];
    const subjects = new Map([
      ["ours", pretend("ours", 1, log)],
      ["jax", pretend("jax", 2, log)],
    ]);
    const samples = await measureInTurn(subjects, { rounds: 3, batchSeconds: 0.3, steps: 5 });
    expect(log.map(([name]) => name)).toEqual(["ours", "jax", "jax", "ours", "ours", "jax", "jax", "ours"]);
    expect(samples.get("ours")).toEqual([1, 1, 1]);
    expect(samples.get("jax")).toEqual([2, 2, 2]);
  });

  it("does not count the first round", async () => {
    let runs = 0;
    const subject: Subject = { run: async () => ++runs };
    const samples = await measureInTurn(new Map([["ours", subject]]), {
      rounds: 2,
      batchSeconds: 0.3,
      steps: 1,
    });
    expect(samples.get("ours")).toEqual([2, 3]);
  });

  it("chooses batches that take about the time asked for", async () => {
    const log: [string, number][] = [];
    const subjects = new Map([
      ["fast", pretend("fast", 0.0001, log)],
      ["slow", pretend("slow", 0.7, log)],
    ]);
    await measureInTurn(subjects, { rounds: 1, batchSeconds: 0.3 });
    expect(log.findLast(([name]) => name === "fast")).toEqual(["fast", 3000]);
    expect(log.findLast(([name]) => name === "slow")).toEqual(["slow", 1]);
  });
});
