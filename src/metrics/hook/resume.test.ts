import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkpointHook, openCheckpoint } from "../../checkpoint/index.ts";
import { every } from "../../schedule/index.ts";
import { hashState } from "../../state/index.ts";
import { evaluationScores, type TrainerHook } from "../../trainer/index.ts";
import {
  comparable,
  type Observed,
  observed,
  smallTask,
  temporaryDirectory,
  timeless,
} from "./hook.test-support.ts";

const evaluation: TrainerHook = {
  name: "evaluation",
  provides: [evaluationScores],
  onEpochEnd: ({ slots, counters }) =>
    slots.set(evaluationScores, { scores: { reward: counters.updates / 10 }, counters }),
};

/** A run with checkpoints; its resumed half begins at one of them. */
const run = (directory: string, onStart: string, fuse: boolean | number = true): Observed =>
  observed(timeless, {
    task: smallTask({ monitor: { gradients: true } }),
    config: { epochs: 3, fuse },
    hooks: [checkpointHook({ directory, onStart, schedule: every({ updates: 1 }) }), evaluation],
  });

/** The checkpoint of a run after so many updates. */
const pathAt = (directory: string, updates: number): string => {
  const found = readdirSync(directory).find((name) =>
    name.endsWith(`update-${String(updates).padStart(6, "0")}`),
  );
  return join(directory, found ?? "none");
};

describe("a resumed run", () => {
  it.each([5, 7, 12])(
    "gives the same records as one that was never interrupted: from update %i on",
    async (at) => {
      const directory = temporaryDirectory();
      const whole = run(directory, "fresh");
      await whole.trainer.train();
      const resumed = run(temporaryDirectory(), pathAt(directory, at));
      await resumed.trainer.train();
      const records = comparable(resumed.keep.records);
      const all = comparable(whole.keep.records);
      expect(records.length).toBeGreaterThan(4);
      expect(records.length).toBeLessThan(all.length);
      expect(records).toEqual(all.slice(all.length - records.length));
      // What is left out ended before.
      expect(
        Math.max(...all.slice(0, all.length - records.length).map(({ step }) => step)),
      ).toBeLessThanOrEqual(at);
    },
  );

  it("keeps its id, and says where it goes on", async () => {
    const directory = temporaryDirectory();
    const whole = run(directory, "fresh");
    await whole.trainer.train();
    const resumed = run(temporaryDirectory(), pathAt(directory, 5));
    await resumed.trainer.train();
    const [first] = whole.keep.runs;
    const [second] = resumed.keep.runs;
    expect(first).toMatchObject({ name: "small", startedAt: 1000 });
    expect(first?.id).toMatch(/^small-19700101-000001-[0-9a-f]{6}$/);
    expect(first).not.toHaveProperty("resumedAt");
    expect(first?.config).toMatchObject({ seed: 0, task: { batchSize: 8 } });
    expect(second).toMatchObject({ id: first?.id, resumedAt: { updates: 5 } });
  });

  it("has the same state at every checkpoint, but for what no two runs share", async () => {
    const [directory, other] = [temporaryDirectory(), temporaryDirectory()];
    await run(directory, "fresh").trainer.train();
    await run(other, pathAt(directory, 5), 1).trainer.train();
    for (const updates of [8, 14, 21]) {
      const a = await openCheckpoint(pathAt(directory, updates));
      const b = await openCheckpoint(pathAt(other, updates));
      const hashes = ({ manifest }: typeof a) =>
        Object.entries(manifest.components)
          .filter(([name]) => name !== "time" && !name.endsWith(".time"))
          .map(([name, { sha256 }]) => [name, sha256]);
      expect(hashes(b)).toEqual(hashes(a));
    }
  });

  it("has the same state at its end, but for what no two runs share", async () => {
    const directory = temporaryDirectory();
    const states = async ({ trainer }: Observed) => {
      const hashes: Record<string, string> = {};
      for (const [name, part] of Object.entries(trainer.components))
        if (name !== "time" && !name.endsWith(".time")) hashes[name] = await hashState(await part.getState());
      return hashes;
    };
    const whole = run(directory, "fresh");
    await whole.trainer.train();
    const resumed = run(temporaryDirectory(), pathAt(directory, 5), 1);
    await resumed.trainer.train();
    const expected = await states(whole);
    expect(Object.keys(expected)).toContain("hook.metrics");
    expect(await states(resumed)).toEqual(expected);
  });
});
