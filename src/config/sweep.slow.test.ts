import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openStatsStore } from "../metrics/index.ts";
import { hashState } from "../state/index.ts";
import { createRun, reopenRun } from "./run-directory.ts";
import { configFile, failure, folder } from "./sweep.test-support.ts";
import { type MemberResult, planSweep, runSweep, trainMember } from "./sweep.ts";

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("runSweep", { timeout: 60_000 }, () => {
  const random = `
metric: validation/loss
trials: 3
seeds: 2
parameters: { task.learningRate: [0.001, 0.1] }`;

  it("trains every trial with every seed, and files which sweep a run is of", async () => {
    const planned = await planSweep(configFile("random", random), ["training.epochs=1"]);
    const { trials, id } = await runSweep(planned);
    expect(trials.map(({ state }) => state)).toEqual(["complete", "complete", "complete"]);
    for (const { members, value } of trials) {
      expect(members.map(({ seed }) => seed)).toEqual([5, 6]);
      const [a, b] = members.map((one) => one.value as number);
      expect(value).toBe(((a as number) + (b as number)) / 2);
      expect(a).not.toBe(b);
    }
    const store = await openStatsStore(join(folder, "random", "stats.db"), { create: false });
    const runs = await store.runs();
    await store.close();
    expect(runs).toHaveLength(6);
    expect(runs.map(({ config }) => (config as { sweep?: unknown }).sweep)).toContainEqual({ id, trial: 2 });
  });

  it("goes on where it was, without doing finished runs again", async () => {
    const file = configFile("killed", random);
    const planned = await planSweep(file, ["training.epochs=1"]);
    const interrupt = new AbortController();
    let trained = 0;
    const part = await runSweep(planned, {
      signal: interrupt.signal,
      train: (member) => {
        if (++trained === 3) interrupt.abort();
        return trainMember(member);
      },
    });
    expect(part.trials.map(({ state }) => state)).toEqual(["running", "running", "waiting"]);
    const again = await planSweep(file, ["training.epochs=1"], { trials: 4 }, true);
    expect(again.directory).toBe(planned.directory);
    const names: string[] = [];
    const whole = await runSweep(again, {
      train: (member) => {
        names.push(member.name);
        return trainMember(member);
      },
    });
    expect(names).toEqual([
      ...["killed-t001-s6", "killed-t002-s5", "killed-t002-s6", "killed-t003-s5", "killed-t003-s6"],
    ]);
    expect(whole.trials.map(({ state }) => state)).toEqual(Array(4).fill("complete"));
    expect((await failure(planSweep(file, ["training.epochs=2"], {}, true))).code).toBe("SWEEP_CHANGED");
  });

  it("counts a run that fails as one trial's failure", async () => {
    const planned = await planSweep(configFile("failing", random), ["training.epochs=1"]);
    const { trials } = await runSweep(planned, {
      parallel: 2,
      train: (member): Promise<MemberResult> =>
        member.name.startsWith("failing-t001") ? Promise.reject(new Error("gone")) : trainMember(member),
    });
    expect(trials.map(({ state, error }) => [state, error])).toEqual([
      ["complete", undefined],
      ["failed", "gone"],
      ["complete", undefined],
    ]);
  });

  it("ends after the first run where no run has its metric, and names those there are", async () => {
    const planned = await planSweep(configFile("metric", random), ["training.epochs=1"], {
      metric: "validation/los",
    });
    let trained = 0;
    const { code, message } = await failure(
      runSweep(planned, {
        train: (member) => {
          trained++;
          return trainMember(member);
        },
      }),
    );
    expect([code, trained]).toEqual(["SWEEP_METRIC", 1]);
    expect(message).toMatch(/validation\/loss/);
  });
});

describe("halving", { timeout: 60_000 }, () => {
  it("lets the best go on exactly where they were: the bits are those of an uninterrupted run", async () => {
    const file = configFile(
      "halving",
      `metric: validation/loss
method: halving
trials: 4
reduction: 2
parameters: { task.learningRate: { from: 1.0e-4, to: 0.1, scale: log } }`,
    );
    const planned = await planSweep(file);
    expect(planned.sweep.rungs).toEqual([1, 2, 4]);
    const { trials, overrides } = await runSweep(planned);
    expect(trials.flatMap(({ error }) => error ?? [])).toEqual([]);
    expect(trials.map(({ state }) => state).sort()).toEqual(["complete", "pruned", "pruned", "pruned"]);
    const best = trials.find(({ state }) => state === "complete");
    if (!best) return expect.fail("no trial is complete");
    expect(Object.keys(best.rungs)).toEqual(["1", "2", "4"]);
    const losers = trials.filter(({ state }) => state === "pruned");
    for (const { rungs } of losers) expect(rungs["1"]).toBeDefined();
    expect(losers.filter(({ rungs }) => rungs["2"] !== undefined)).toHaveLength(1);

    const whole = await createRun(file, {
      overrides: [...overrides, `task.learningRate=${best.values["task.learningRate"]}`],
      quiet: true,
    });
    const { validation } = await whole.train();
    expect(validation?.loss).toBe(best.value);
    const paused = await reopenRun(join(planned.directory, String(best.members[0]?.run)), { quiet: true });
    await paused.train();
    const hashes = async (run: typeof whole) =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(run.trainer.components)
            .filter(([name]) => !/time|metrics/.test(name))
            .map(async ([name, part]) => [name, await hashState(await part.getState())]),
        ),
      );
    expect(await hashes(paused)).toEqual(await hashes(whole));
  });
});
