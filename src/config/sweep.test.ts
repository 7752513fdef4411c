import { readdirSync, rmSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { configFile, failure, folder } from "./sweep.test-support.ts";
import { optunaJournal, planSweep, type Sweep } from "./sweep.ts";

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const values = ({ trials }: Pick<Sweep, "trials">) => trials.map((trial) => trial.values);
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
