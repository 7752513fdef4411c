import { mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { completed, espalier, filed, NOW, record, testStores } from "./runs.test-support.ts";

const { path, testStore } = testStores();
const compare = (...args: readonly string[]) => espalier(["compare", ...args, "--store", path("stats.db")]);

async function twoRuns() {
  const store = await testStore();
  const losses = (...values: readonly number[]) =>
    values.map((value, i) => record("train/loss", i + 1, value));
  await filed(store, "first", [...losses(3, 1, 2), record("validation/accuracy", 3, 0.5)], {
    ending: completed,
  });
  await filed(store, "second", losses(4, 0.5, 0.75), { ending: { ...completed, outcome: "stopped" } });
  await store.add("first", "evaluation", [
    { wall: NOW, step: 1, name: "grid", scores: { return: 1 } },
    { wall: NOW, step: 2, name: "grid", scores: { return: 7 } },
  ]);
  return store;
}

describe("espalier compare", () => {
  it("shows outcome, length, final and best metrics, and evaluations side by side", async () => {
    await twoRuns();
    const { code, text } = await compare("first", "second");
    expect(code).toBe(0);
    expect(text).toMatch(/^ +first +second +difference$/m);
    expect(text).toMatch(/^outcome +completed +stopped/m);
    expect(text).toMatch(/^updates +300 +300/m);
    expect(text).toMatch(/^train\/loss +2 +0\.75 +-1\.25$/m);
    expect(text).toMatch(/^ +best \(min\) +1 +0\.5 +-0\.5$/m);
    expect(text).toMatch(/^validation\/accuracy +0\.5/m);
    expect(text).toMatch(/^ +best \(max\) +0\.5/m);
    expect(text).toMatch(/^grid return +7/m);
    expect(text).toContain("their configurations are the same");
  });

  it("shows settings that differ, from the configurations in the directories of runs", async () => {
    await twoRuns();
    for (const [run, rate] of [
      ["first", 0.1],
      ["second", 0.2],
    ] as const) {
      mkdirSync(path(run));
      writeFileSync(
        path(`${run}/config.yaml`),
        `task: { use: ppo, learningRate: ${rate} }\nhooks: [{ use: ${run} }]\n`,
      );
    }
    const { text } = await compare("first", "second");
    expect(text).toMatch(/^2 settings that differ$/m);
    expect(text).toMatch(/^task\.learningRate +0\.1 +0\.2$/m);
    expect(text).toMatch(/^hooks\.0\.use +first +second$/m);
    expect(text).not.toContain("task.use");
  });

  it("takes metrics that not all runs have, and prints JSON", async () => {
    await twoRuns();
    const { text } = await compare("first", "second", "first", "--json", "--metric", "validation/*");
    const { runs, metrics } = JSON.parse(text);
    expect(runs.map(({ id }: { readonly id: string }) => id)).toEqual(["first", "second", "first"]);
    expect(metrics).toEqual([
      {
        key: "validation/accuracy",
        direction: "max",
        values: [{ last: 0.5, best: 0.5 }, null, { last: 0.5, best: 0.5 }],
      },
    ]);
  });

  it("refuses one run, unknown runs and unknown metrics", async () => {
    await twoRuns();
    expect((await compare("first")).error).toContain("OPTION_INVALID");
    expect((await compare("first", "thrid")).error).toMatch(/thrid/);
    expect((await compare("first", "second", "--metric", "train/los")).error).toContain("METRIC_UNKNOWN");
  });
});
