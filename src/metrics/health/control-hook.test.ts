import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../checkpoint/hook/runs.test-support.ts";
import { checkpointHook, memoryStore } from "../../checkpoint/index.ts";
import { manualClock } from "../../core/index.ts";
import { constant, every, never } from "../../schedule/index.ts";
import { evaluationScores, Trainer, type TrainerHook, type TrainingConfig } from "../../trainer/index.ts";
import { FakeTask, train } from "../../trainer/task.test-support.ts";
import { metricsHook } from "../hook/metrics-hook.ts";
import { readHeartbeat, rollbackHook } from "../index.ts";
import { Logger } from "../logger/logger.ts";
import { openStatsStore } from "../store/stats-store.ts";
import { answerOf, ask, journalOf, put, putText, stateOf, turns, until } from "./control.test-support.ts";
import { controlHook } from "./control-hook.ts";

const none = () => undefined;

/** A run without an end, in a directory of its own. */
function started(
  hooks: readonly TrainerHook[] = [],
  {
    directory = temporaryDirectory(),
    config = {},
    clock = undefined as ReturnType<typeof manualClock> | undefined,
  } = {} as { directory?: string; config?: Partial<TrainingConfig>; clock?: ReturnType<typeof manualClock> },
) {
  const task = new FakeTask({
    epoch: () => [train(40)],
    ramps: { rate: constant(0.5), weight: constant(2) },
  });
  const warnings: string[] = [];
  const trainer = new Trainer({
    task,
    hooks: [turns, ...hooks, controlHook({ directory, pollEvery: 2 })],
    config: { epochs: 1e9, handleSignals: false, ...config },
    warn: (text) => void warnings.push(text),
    ...(clock && { clock }),
  });
  const result = trainer.train();
  result.catch(none);
  return { directory, task, trainer, result, warnings };
}

const stopped = async ({ directory, result }: Pick<ReturnType<typeof started>, "directory" | "result">) => {
  await ask(directory, { action: "stop" });
  return result;
};

describe("requests", () => {
  it("are applied after a batch, confirmed in the journal, and gone", async () => {
    const run = started();
    const { directory, task } = run;
    const answer = await ask(directory, { action: "set", ramp: "rate", value: 0.25 });
    expect(answer).toMatchObject({ outcome: "applied", message: "rate is 0.25, and was 0.5" });
    expect(journalOf(directory)[0]).toMatchObject({
      request: { who: "tester", action: "set", ramp: "rate", value: 0.25 },
      counters: { batches: answer.batches, updates: answer.batches },
      wall: expect.any(Number),
    });
    expect(await ask(directory, { action: "set", ramp: "rate", value: null })).toMatchObject({
      message: "rate is 0.5, and was 0.25",
    });
    const { outcome, reason } = await stopped(run);
    expect({ outcome, reason }).toEqual({ outcome: "stopped", reason: "stopped by tester" });
    expect(readdirSync(join(directory, "control/requests"))).toEqual([]);
    const rates = task.requests.flatMap(({ at, ramps }) =>
      [...(ramps.rate ?? [])].map((rate, i) => [at.batches + i, rate] as const),
    );
    const [set, own] = journalOf(directory).map(({ counters }) => counters.batches) as [number, number];
    for (const [batch, rate] of rates) expect(rate).toBe(batch >= set && batch < own ? 0.25 : 0.5);
  });

  it("are applied in the order in which they were asked, then of their ids", async () => {
    const directory = temporaryDirectory();
    const at = (id: string, time: number, value: number) =>
      put(directory, { action: "set", ramp: "rate", value }, { id, at: time });
    at("c", 5, 0.3);
    at("b", 5, 0.2);
    at("a", 9, 0.4);
    const run = started([], { directory });
    await until(() => journalOf(directory)[2]);
    await stopped(run);
    const ids = journalOf(directory).map(({ request }) => request.id);
    expect(ids.slice(0, 3)).toEqual(["b", "c", "a"]);
    expect(
      new Set(
        journalOf(directory)
          .slice(0, 3)
          .map(({ counters }) => counters.batches),
      ).size,
    ).toBe(1);
  });

  it("to pause are refused once the run is told to stop", async () => {
    const directory = temporaryDirectory();
    put(directory, { action: "stop" }, { id: "first", at: 1 });
    put(directory, { action: "pause" }, { id: "then", at: 2 });
    await started([], { directory }).result;
    expect(answerOf(directory, "then")).toMatchObject({ outcome: "refused", message: "the run ends" });
  });

  it("are interventions in the stats store, with who, what, and the answer; beside another hook's", async () => {
    const statsStore = await openStatsStore(join(temporaryDirectory(), "stats.db"));
    const metrics = metricsHook({
      logger: new Logger({ sinks: [] }),
      statsStore,
      run: { id: "steered" },
      ...{ system: false, timing: false },
    });
    const run = started([metrics, rollbackHook({ rates: ["rate"] })]);
    await ask(run.directory, { action: "set", ramp: "rate", value: 0.125 });
    await stopped(run);
    const rows = await statsStore.list("steered", "intervention");
    expect(rows.slice(0, 1)).toEqual([
      {
        step: expect.any(Number),
        wall: expect.any(Number),
        who: "tester",
        what: "set rate to 0.125",
        details: {
          reason: "rate is 0.125, and was 0.5",
          outcome: "applied",
          request: expect.any(String),
          asked: expect.any(Number),
        },
      },
    ]);
    const [record] = journalOf(run.directory);
    expect(rows[0]).toMatchObject({ step: record?.counters.steps, wall: record?.wall });
    await statsStore.close();
  });

  it("cost no call of the task while there are none", async () => {
    const counts = async (hooks: readonly TrainerHook[]) => {
      const task = new FakeTask({ epoch: () => [train(40)] });
      await new Trainer({ task, hooks, config: { epochs: 50, handleSignals: false }, warn: none }).train();
      return task.requests.map(({ count }) => count);
    };
    expect(await counts([controlHook({ directory: temporaryDirectory() })])).toEqual(await counts([]));
  });

  const bad: readonly (readonly [string, string, RegExp])[] = [
    ["no JSON", "{ pause", /this is no request: it cannot be read/],
    ["no object", "[1]", /it is no object/],
    [
      "an unknown action",
      '{"id":"ID","who":"x","at":1,"action":"pauze"}',
      /action is "pauze".*did you mean "pause"/,
    ],
    [
      "an unknown member",
      '{"id":"ID","who":"x","at":1,"action":"pause","ramp":"a"}',
      /no option "ramp"|"ramp"/,
    ],
    ["no who", '{"id":"ID","at":1,"action":"pause"}', /who is missing/],
    ["a long who", `{"id":"ID","who":"${"x".repeat(201)}","at":1,"action":"pause"}`, /who is/],
    ["a time that is none", '{"id":"ID","who":"x","at":"now","action":"pause"}', /at is "now"/],
    [
      "another id than its file",
      '{"id":"other","who":"x","at":1,"action":"pause"}',
      /its id is not the name/,
    ],
    ["an id that is a path", '{"id":"../../x","who":"x","at":1,"action":"pause"}', /id is/],
    ["NaN", '{"id":"ID","who":"x","at":1,"action":"set","ramp":"rate","value":"NaN"}', /value is "NaN"/],
    [
      "a number beyond 32 bits",
      '{"id":"ID","who":"x","at":1,"action":"set","ramp":"rate","value":1e39}',
      /1e\+39/,
    ],
    ["no value", '{"id":"ID","who":"x","at":1,"action":"set","ramp":"rate"}', /value is missing/],
    [
      "an unknown ramp",
      '{"id":"ID","who":"x","at":1,"action":"set","ramp":"rat","value":1}',
      /no ramp "rat".*"rate"/,
    ],
    [
      "a prototype",
      '{"id":"ID","who":"x","at":1,"action":"set","ramp":"__proto__","value":1}',
      /no ramp "__proto__"/,
    ],
    [
      "an unknown hook",
      '{"id":"ID","who":"x","at":1,"action":"disable","hook":"turn"}',
      /no hook "turn".*"turns"/,
    ],
    ["the hook itself", '{"id":"ID","who":"x","at":1,"action":"disable","hook":"control"}', /stays enabled/],
    [
      "a child of it",
      '{"id":"ID","who":"x","at":1,"action":"disable","hook":"control.end"}',
      /stays enabled/,
    ],
    ["resume of a run that trains", '{"id":"ID","who":"x","at":1,"action":"resume"}', /not paused/],
    [
      "checkpoint without a hook",
      '{"id":"ID","who":"x","at":1,"action":"checkpoint"}',
      /add a checkpointHook/,
    ],
    ["evaluate without a hook", '{"id":"ID","who":"x","at":1,"action":"evaluate"}', /add an evaluationHook/],
    [
      "too much",
      `{"id":"ID","who":"x","at":1,"action":"pause","x":"${"y".repeat(20_000)}"}`,
      /200\d\d bytes/,
    ],
  ];
  it("that are none are refused with the reason, and the run goes on", async () => {
    const run = started();
    const { directory } = run;
    for (const [i, [, text, message]] of bad.entries()) {
      const id = putText(directory, `bad-${i}`, text.replace('"ID"', `"bad-${i}"`));
      const { outcome, message: answer } = await until(() => answerOf(directory, id));
      expect({ outcome, answer }).toEqual({ outcome: "refused", answer: expect.stringMatching(message) });
    }
    // Neither files nor names of files.
    const requests = join(directory, "control/requests");
    mkdirSync(join(requests, "folder.json"));
    symlinkSync("/nowhere", join(requests, "link.json"));
    writeFileSync(join(requests, "\u001b[31m.json"), "{}");
    for (const id of ["folder", "link"])
      expect(await until(() => answerOf(directory, id))).toMatchObject({
        message: expect.stringContaining("no file"),
      });
    await until(() => journalOf(directory)[bad.length + 2]);
    expect(journalOf(directory).at(-1)?.request.id).not.toContain("\u001b");
    expect((await stopped(run)).outcome).toBe("stopped");
    // What cannot be removed is not answered twice.
    expect(journalOf(directory).filter(({ request }) => request.id === "folder")).toHaveLength(1);
  });

  it("of a run that has ended are refused; one that may be resumed keeps them", async () => {
    const ended = started([], { config: { epochs: 1 } });
    const late: TrainerHook = {
      name: "late",
      onTrainingEnd: () => void put(ended.directory, { action: "pause" }, { id: "late" }),
    };
    ended.trainer.registerHook({ ...late, priority: 1 });
    await ended.result;
    expect(answerOf(ended.directory, "late")).toMatchObject({
      outcome: "refused",
      message: "the run has ended",
    });
    expect(stateOf(ended.directory)).toMatchObject({ state: "ended", outcome: "completed" });

    const interrupted = started();
    await ask(interrupted.directory, { action: "set", ramp: "rate", value: 1 });
    interrupted.trainer.registerHook({
      ...late,
      onTrainingEnd: () => void put(interrupted.directory, { action: "pause" }, { id: "late" }),
      priority: 1,
    });
    interrupted.trainer.interrupt("enough");
    await interrupted.result;
    expect(answerOf(interrupted.directory, "late")).toBeUndefined();
    expect(readdirSync(join(interrupted.directory, "control/requests"))).toEqual(["late.json"]);
    expect(stateOf(interrupted.directory)).toMatchObject({ state: "ended", outcome: "interrupted" });
  });

  it("on several ranks are refused, but for stop", async () => {
    const run = started([], { config: { ranks: 2 } });
    expect(await ask(run.directory, { action: "pause" })).toMatchObject({
      outcome: "refused",
      message: expect.stringContaining("2 ranks"),
    });
    expect((await stopped(run)).outcome).toBe("stopped");
  });
});

describe("pause", () => {
  it("stands still, is seen to be alive, is told more meanwhile, and goes on", async () => {
    const clock = manualClock();
    const directory = temporaryDirectory();
    const store = memoryStore();
    const file = join(directory, "heartbeat.json");
    const metrics = metricsHook({
      logger: new Logger({ sinks: [] }),
      heartbeat: { file },
      ...{ system: false, timing: false },
    });
    const run = started([metrics, checkpointHook({ store, schedule: never() })], { directory, clock });
    const { batches } = await ask(directory, { action: "pause" });
    await until(() => (stateOf(directory).state === "paused" ? true : undefined));
    await until(() => (readHeartbeat(file)?.phase === "paused" ? true : undefined));
    const before = stateOf(directory).wall;
    clock.advance(31_000);
    await until(() => (stateOf(directory).wall > before ? true : undefined));
    await until(() => (readHeartbeat(file)?.wall === clock.wall() ? true : undefined));
    expect(readHeartbeat(file)?.phase).toBe("paused");

    expect(await ask(directory, { action: "pause" })).toMatchObject({ outcome: "refused" });
    const set = await ask(directory, { action: "set", ramp: "weight", value: 3 });
    expect(set.batches).toBe(batches);
    await ask(directory, { action: "checkpoint" });
    const [name] = await until(() => names(store));
    expect(name).toContain(`update-${String(batches).padStart(6, "0")}`);
    await until(() => (stateOf(directory).ramps.weight?.set === 3 ? true : undefined));
    expect(run.task.requests.reduce((sum, { count }) => sum + count, 0)).toBe(batches);

    expect(await ask(directory, { action: "resume" })).toMatchObject({ outcome: "applied", batches });
    await until(() => (stateOf(directory).state === "running" ? true : undefined));
    const { counters, timings } = await stopped(run);
    expect(counters.batches).toBeGreaterThan(batches);
    expect(timings.seconds).toBe(0); // The clock stood still but for the pause.
  });

  const saved = new WeakMap<object, readonly string[]>();
  const names = (store: ReturnType<typeof memoryStore>): readonly string[] | undefined => {
    void store.list().then((list) => saved.set(store, list));
    const found = saved.get(store);
    return found && found.length > 0 ? found : undefined;
  };

  it.each(["interrupt", "stop"] as const)("ends with the run: %s", async (how) => {
    const store = memoryStore();
    const run = started([checkpointHook({ store, schedule: never() })]);
    const { batches } = await ask(run.directory, { action: "pause" });
    run.trainer[how]("enough");
    const { outcome, counters } = await run.result;
    expect(outcome).toBe(how === "stop" ? "stopped" : "interrupted");
    expect(counters.batches).toBe(batches);
    expect(await store.list()).toHaveLength(1);
    if (how === "stop") return;
    // Resumed, it is not paused.
    const again = started([checkpointHook({ store, schedule: never() })], { directory: run.directory });
    const next = await ask(run.directory, { action: "set", ramp: "rate", value: 1 });
    expect(next.batches).toBeGreaterThan(batches);
    await stopped(again);
  });
});

describe("hooks", () => {
  const heard = (): TrainerHook & { readonly batches: number[] } => {
    const batches: number[] = [];
    return { name: "heard", batches, onBatchEnd: ({ counters }) => void batches.push(counters.batches) };
  };

  it("are disabled and enabled", async () => {
    const hook = heard();
    const run = started([hook]);
    const off = await ask(run.directory, { action: "disable", hook: "heard" });
    await until(() => (stateOf(run.directory).hooks.heard?.enabled === false ? true : undefined));
    const on = await ask(run.directory, { action: "enable", hook: "heard" });
    const { counters } = await stopped(run);
    const all = Array.from({ length: counters.batches }, (_, i) => i + 1);
    expect(hook.batches).toEqual(all.filter((batch) => batch <= off.batches || batch > on.batches));
  });

  it("that save and evaluate are run at once, whatever their schedules and events", async () => {
    const store = memoryStore();
    let evaluations = 0;
    const evaluation: TrainerHook = {
      name: "evaluation",
      provides: [evaluationScores],
      schedule: every({ epochs: 1e9 }),
      onTrainingStart: () => undefined,
      onEpochEnd: ({ slots, counters }) => {
        evaluations++;
        slots.set(evaluationScores, { scores: { good: 1 }, counters });
      },
    };
    const checkpoint = checkpointHook({ store, schedule: every({ epochs: 1e9 }) });
    const run = started([evaluation, { ...checkpoint, name: "checkpoint" }]);
    const { directory } = run;
    await until(() => (stateOf(directory).state === "running" ? true : undefined));
    expect(stateOf(directory)).toMatchObject({ checkpoints: ["checkpoint"], evaluations: ["evaluation"] });
    expect(await ask(directory, { action: "evaluate" })).toMatchObject({
      message: "evaluated by evaluation",
    });
    expect(evaluations).toBe(1);
    const { batches } = await ask(directory, { action: "checkpoint" });
    await ask(directory, { action: "disable", hook: "evaluation" });
    expect(await ask(directory, { action: "evaluate" })).toMatchObject({
      outcome: "refused",
      message: expect.stringContaining("enable the hook"),
    });
    await stopped(run);
    expect((await store.list())[0]).toContain(`update-${String(batches).padStart(6, "0")}`);
    expect(evaluations).toBe(1);
  });

  it("that fail when they are run are the answer, and the run goes on", async () => {
    const failing: TrainerHook = {
      name: "evaluation",
      provides: [evaluationScores],
      schedule: never(),
      onEpochEnd: () => {
        throw new Error("no environment");
      },
    };
    const run = started([failing]);
    expect(await ask(run.directory, { action: "evaluate" })).toMatchObject({
      outcome: "refused",
      message: expect.stringContaining("no environment"),
    });
    expect((await stopped(run)).outcome).toBe("stopped");
  });
});

describe("options", () => {
  it.each([
    [{}, /where requests come from/],
    [{ directory: "a", replay: [] }, /both directory and replay/],
    [{ replay: [{}] }, /records of a journal/],
    [{ directory: "a", pollEvery: 0 }, /pollEvery/],
  ])("%j are refused", (options, message) => {
    expect(() => controlHook(options as never)).toThrow(message);
  });

  it("a replay that names a ramp which the task does not have fails", async () => {
    const run = started();
    await ask(run.directory, { action: "set", ramp: "weight", value: 1 });
    await stopped(run);
    const task = new FakeTask({ epoch: () => [train(40)] });
    const hooks = [controlHook({ replay: journalOf(run.directory) })];
    const trainer = new Trainer({ task, hooks, config: { epochs: 1e9, handleSignals: false }, warn: none });
    await expect(trainer.train()).rejects.toThrow(/RAMP_UNKNOWN/);
  });
});

it("does not take what an earlier run in its directory was told for its own", async () => {
  const first = started();
  await ask(first.directory, { action: "set", ramp: "rate", value: 0.25 });
  await stopped(first);
  const second = started([], { directory: first.directory });
  await until(() => (stateOf(first.directory).pid && second.task.requests.length > 40 ? true : undefined));
  await stopped(second);
  expect(journalOf(first.directory)).toHaveLength(1);
  expect(second.task.requests.every(({ ramps }) => ramps.rate?.every((rate) => rate === 0.5))).toBe(true);
  expect(
    readdirSync(join(first.directory, "control")).filter((name) => /journal-\d/.test(name)),
  ).toHaveLength(1);
});
