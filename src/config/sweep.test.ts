import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openStatsStore } from "../metrics/index.ts";
import { hashState } from "../state/index.ts";
import { createRun, reopenRun } from "./run-directory.ts";
import { type MemberResult, optunaJournal, planSweep, runSweep, type Sweep, trainMember } from "./sweep.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-sweep-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A small classifier, in a directory of its own. */
function configFile(name: string, sweep: string, more = ""): string {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(
    file,
    `name: ${name}
engine: wasm
directory: ${join(folder, name)}
${more}
task:
  use: supervisedTask
  model: { use: nn.mlp, hidden: [4], out: 1 }
  optimizer: { use: optim.adam }
  loss: { get: nn.mse }
  data: &rows { x: [[0, 0], [0, 1], [1, 0], [1, 1]], y: [[0], [1], [1], [0]] }
  validation: *rows
  batchSize: 2
  learningRate: 0.01
training: { epochs: 4, seed: 5 }
metrics: { system: false, timing: false }
sweep:
${sweep
  .trim()
  .split("\n")
  .map((line) => `  ${line}`)
  .join("\n")}
`,
  );
  return file;
}

const values = ({ trials }: Pick<Sweep, "trials">) => trials.map((trial) => trial.values);
const failure = (work: Promise<unknown>): Promise<{ readonly code: string; readonly message: string }> =>
  work.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );

const draws = `
metric: validation/loss
trials: 6
parameters:
  task.learningRate: { from: 1.0e-4, to: 0.1, scale: log }
  task.batchSize: [1, 2, 4]
  "task.model.hidden[0]": { from: 2, to: 8, step: 2 }`;

describe("draws", () => {
  it("depend on the seed and the trial alone, and lie in their ranges", async () => {
    const file = configFile("draws", draws);
    const { sweep } = await planSweep(file);
    expect(values((await planSweep(file)).sweep)).toEqual(values(sweep));
    const more = (await planSweep(file, [], { trials: 9 })).sweep;
    expect(values(more).slice(0, 6)).toEqual(values(sweep));
    expect(values((await planSweep(file, [], { seed: 1 })).sweep)).not.toEqual(values(sweep));
    for (const one of values(more)) {
      expect(one["task.learningRate"]).toBeGreaterThanOrEqual(1e-4);
      expect(one["task.learningRate"]).toBeLessThanOrEqual(0.1);
      expect([1, 2, 4]).toContain(one["task.batchSize"]);
      expect([2, 4, 6, 8]).toContain(one["task.model.hidden[0]"]);
    }
    expect(new Set(values(more).map((one) => one["task.learningRate"])).size).toBe(9);
  });

  it("of a grid are all combinations, the last parameter fastest", async () => {
    const file = configFile(
      "grid",
      `metric: validation/loss
method: grid
parameters: { task.batchSize: [1, 2], task.learningRate: { from: 0.001, to: 0.1, scale: log, count: 3 } }`,
    );
    expect(values((await planSweep(file)).sweep)).toEqual(
      [1, 2].flatMap((size) =>
        [0.001, 0.01, 0.1].map((rate) => ({ "task.batchSize": size, "task.learningRate": rate })),
      ),
    );
  });
});

describe("planSweep", () => {
  it("tells all that is wrong with a sweep at once, with places", async () => {
    const file = configFile(
      "wrong",
      `metric: loss
metod: grid
parameters:
  task.learningRate: { from: 2, to: 1 }
  task.batchSize: []
  name: [a]`,
    );
    const { code, message } = await failure(planSweep(file));
    expect(code).toBe("CONFIG_INVALID");
    for (const part of [/yaml:17:3 .*metric/, /metod/, /yaml:20:5 .*to is 1/, /21:5 .*empty/, /22:5/])
      expect(message).toMatch(part);
  });

  it("needs parameters", async () => {
    expect((await failure(planSweep(configFile("none", "metric: validation/loss")))).message).toMatch(
      /parameters is missing/,
    );
  });

  it("builds runs with its values first, and says where a path is that nothing has", async () => {
    const file = configFile(
      "path",
      "metric: validation/loss\nparameters: { task.lerningRate: [0.1], task.batchSize: [2, -1] }",
    );
    const { code, message } = await failure(planSweep(file));
    expect(code).toBe("CONFIG_INVALID");
    expect(message).toMatch(/path\.yaml:18:\d+ {2}task.*lerningRate[\s\S]*learningRate/);
    expect(readdirSync(folder)).not.toContain("path");
  });
});

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

describe("optuna.log", () => {
  it("has the operations of Optuna's journal", async () => {
    const { sweep } = await planSweep(configFile("optuna", draws));
    const [first, second, third] = sweep.trials;
    if (!first || !second || !third) return expect.fail("there are too few trials");
    const started = "2026-01-31T12:00:00.000Z";
    const text = optunaJournal({
      ...sweep,
      trials: [
        { ...first, state: "complete", value: 0.5, started, ended: started, rungs: { "1": 0.7 } },
        { ...second, state: "failed", started, ended: started },
        third,
      ],
    });
    const lines = text.split("\n");
    expect(lines.pop()).toBe(""); // Optuna refuses a last line without an end.
    const [study, ...trials] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(study).toEqual({ op_code: 0, worker_id: "espalier", study_name: sweep.id, directions: [1] });
    expect(trials.map(({ op_code, study_id, state, value }) => [op_code, study_id, state, value])).toEqual([
      [4, 0, 1, 0.5],
      [4, 0, 3, null],
      [4, 0, 4, null],
    ]);
    expect(trials[0]).toMatchObject({
      datetime_start: "2026-01-31T12:00:00.000+00:00",
      intermediate_values: { "1": 0.7 },
      params: {
        "task.learningRate": first.values["task.learningRate"],
        "task.batchSize": [1, 2, 4].indexOf(first.values["task.batchSize"] as number), // the index of the choice
        "task.model.hidden[0]": first.values["task.model.hidden[0]"],
      },
    });
    expect("datetime_complete" in (trials[2] ?? {})).toBe(false);
    const distributions = trials[0]?.distributions as Readonly<Record<string, string>>;
    expect(Object.values(distributions).map((one) => JSON.parse(one))).toEqual([
      { name: "FloatDistribution", attributes: { step: null, low: 1e-4, high: 0.1, log: true } },
      { name: "CategoricalDistribution", attributes: { choices: [1, 2, 4] } },
      { name: "IntDistribution", attributes: { log: false, step: 2, low: 2, high: 8 } },
    ]);
  });
});
