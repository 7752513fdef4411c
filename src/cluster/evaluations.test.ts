import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkpointHook } from "../checkpoint/index.ts";
import { EspalierError, systemClock } from "../core/index.ts";
import { openStatsStore } from "../metrics/index.ts";
import { here, makeDrift } from "../rl/evaluation/evaluation.test-support.ts";
import { folder, WalkTask, walkRun } from "../rl/evaluation/run.test-support.ts";
import {
  allScores,
  type EvaluationJob,
  type EvaluationOutcome,
  evaluateCheckpoint,
  evaluationHook,
  readReplay,
} from "../rl/index.ts";
import { every, noCounters } from "../schedule/index.ts";
import { type EvaluationScores, evaluationScores, latestReplay, type TrainerHook } from "../trainer/index.ts";
import type { Broker, BrokerValues } from "./broker.ts";
import { ClusterEvaluations, natsEvaluations } from "./evaluations.ts";
import { type EvaluatorEvent, type EvaluatorOptions, runEvaluator } from "./evaluator.ts";
import { encode, listMembers } from "./members.ts";
import { noFaults, SimulatedServer, Simulation } from "./simulation.test-support.ts";

/** A server in memory whose time passes while the test does something else. */
function started() {
  const simulation = new Simulation(1);
  const server = new SimulatedServer(simulation);
  let state: "on" | "off" = "on";
  onTestFinished(() => {
    state = "off";
  });
  const pass = async (): Promise<void> => {
    while (state === "on") {
      const { events } = simulation;
      await simulation.run(() => simulation.events > events + 10).catch(() => undefined);
      await setTimeout(1);
    }
  };
  void pass();

  const trainer = (
    more: { readonly store?: string; readonly process?: string; readonly capacity?: number } = {},
  ) =>
    new ClusterEvaluations({
      ...{ run: "walk", capacity: 10, submitWithin: 20, connect: async () => server.connect("trainer") },
      ...more,
    });
  const evaluator = (name: string, more: Partial<EvaluatorOptions> = {}) => {
    const leaving = new AbortController();
    const events: EvaluatorEvent[] = [];
    const broker = server.connect(name);
    const running = runEvaluator({
      ...{ broker, run: "walk", name, patience: 60, signal: leaving.signal, warn: () => undefined },
      told: (event) => void events.push(event),
      ...more,
    });
    running.catch(() => undefined); // Some tests kill it.
    return { broker, running, events, leave: () => leaving.abort(new Error("enough")) };
  };
  return { simulation, server, trainer, evaluator };
}

/** Resolves when `found` gives something. */
async function until<T>(found: () => T | undefined | false): Promise<T> {
  for (;;) {
    const value = found();
    if (value) return value;
    await setTimeout(1);
  }
}

const suites = { drift: { env: here("makeDrift") } };
const job = (step: number, more: Partial<EvaluationJob> = {}): EvaluationJob => ({
  ...{ id: `evaluation ${step}`, checkpoint: `/nowhere/${step}`, suites, episodes: 2, seed: 1 },
  ...{ deterministic: true, run: "walk", step, counters: { ...noCounters, steps: step } },
  ...more,
});

/** Evaluates by saying the step. */
const stepAsReturn: NonNullable<EvaluatorOptions["evaluate"]> = async ({ step }) => ({
  results: [{ suite: "drift", scores: { return: step, episodes: 2 } }],
  replays: [],
});
const never: NonNullable<EvaluatorOptions["evaluate"]> = (_, { signal } = {}) =>
  new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));

const all = async (queue: ClusterEvaluations): Promise<readonly EvaluationOutcome[]> =>
  queue.results("walk", { wait: true });
const returns = (outcomes: readonly EvaluationOutcome[]) =>
  outcomes.map(({ job, results }) => [job.step, results?.[0]?.scores.return]);

/** Hears of every value of slots. */
function heard(): { readonly hook: TrainerHook; readonly values: Record<string, unknown[]> } {
  const values: Record<string, unknown[]> = {};
  const hook: TrainerHook = {
    name: "heard",
    onTrainingStart: () => undefined,
    onRegister: (host) =>
      host.observe({
        provided: ({ name }, value) => {
          values[name] = [...(values[name] ?? []), value];
        },
      }),
  };
  return { hook, values };
}

describe("a run whose checkpoints are evaluated by a cluster", () => {
  it("gets scores, rows and replays of each checkpoint once, under its step", async () => {
    const { trainer, evaluator, server } = started();
    const directory = folder();
    const location = `${directory}/stats.db`;
    const task = new WalkTask(makeDrift, here("makeDrift"));
    const { hook, values } = heard();
    const evaluation = evaluationHook({
      ...{ player: task.player, suites, episodes: 3, schedule: every({ epochs: 3 }), mode: "remote" },
      queue: trainer({ store: location }),
      replays: { directory: `${directory}/replays`, every: 2 },
    });
    const workers = [evaluator("a"), evaluator("b")];
    const { trainer: run, warnings } = walkRun(
      task,
      [
        evaluation,
        checkpointHook({ directory: `${directory}/own`, schedule: every({ epochs: 2 }) }),
        { name: "settled", onEpochStart: () => run.hooks.settle() },
        hook,
      ],
      {},
      systemClock,
    );
    await run.train();
    expect(warnings).toEqual([]);
    const scores = values[evaluationScores.name] as readonly EvaluationScores[];
    expect(scores.map(({ counters }) => counters.steps)).toEqual([4, 8, 12]);
    const again = await evaluateCheckpoint(scores[1]?.checkpoint ?? "", { episodes: 3, suites });
    expect(scores[1]?.scores).toEqual(allScores(again.results));
    const store = await openStatsStore(location);
    // In the order in which the two evaluators were done.
    const rows = [...(await store.list("walk", "evaluation"))].sort((a, b) => a.step - b.step);
    expect(rows.map(({ step, name, checkpoint }) => [step, name, checkpoint])).toEqual(
      scores.map(({ counters, checkpoint }) => [counters.steps, "drift", checkpoint]),
    );
    await store.close();
    const replays = values[latestReplay.name] as readonly { uri: string; counters: { steps: number } }[];
    expect(replays.map(({ counters }) => counters.steps)).toEqual([4, 12]);
    expect(await readReplay(replays[0]?.uri ?? "")).toMatchObject({
      about: { run: "walk", suite: "drift", step: 4 },
    });
    // The run has ended, and the evaluators with it.
    const left = await Promise.all(workers.map(({ running }) => running));
    expect(left.map(({ why }) => why)).toEqual(["ended", "ended"]);
    expect(left.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(3);
    expect(await listMembers(server.connect("looks"), "walk")).toEqual([]);
  });

  it("keeps scores that are not finite, and the order of jobs", async () => {
    const { trainer, evaluator } = started();
    const queue = trainer();
    const scores = { return: Number.NaN, best: Number.POSITIVE_INFINITY, worst: Number.NEGATIVE_INFINITY };
    const done: number[] = [];
    for (const name of ["a", "b"])
      evaluator(name, {
        evaluate: async ({ step }) => {
          if (step === 1) await until(() => done.includes(2));
          return { results: [{ suite: "drift", scores }], replays: [] };
        },
        told: (event) => event.kind === "done" && done.push(event.job.step),
      });
    await queue.submit(job(1));
    await queue.submit(job(2));
    const found = await all(queue);
    expect(done[0]).toBe(2);
    expect(found.map((one) => [one.job.step, one.results?.[0]?.scores])).toEqual([
      [1, scores],
      [2, scores],
    ]);
    await queue.close();
  });

  it("hears that its scores could not be filed, and has them all the same", async () => {
    const { trainer, evaluator } = started();
    const location = folder(); // No file.
    const queue = trainer({ store: location });
    evaluator("a", { evaluate: stepAsReturn });
    await queue.submit(job(1));
    const [outcome] = await all(queue);
    expect(outcome).toMatchObject({
      results: [{ scores: { return: 1 } }],
      failure: { code: "EVALUATION_UNFILED", message: expect.stringContaining(location) },
    });
    await queue.close();
  });
});

describe("an evaluator", () => {
  it("that dies in the middle: its job is done once, by another", async () => {
    const { trainer, evaluator, simulation } = started();
    const queue = trainer();
    await queue.submit(job(1));
    let began = 0;
    const first = evaluator("first", {
      evaluate: (...given) => {
        began++;
        return never(...given);
      },
    });
    await until(() => began === 1);
    const { now } = simulation;
    first.broker.kill();
    const second = evaluator("second", {
      evaluate: (...given) => {
        began++;
        return stepAsReturn(...given);
      },
    });
    expect(returns(await all(queue))).toEqual([[1, 1]]);
    expect(simulation.now - now).toBeLessThan(40_000);
    expect(began).toBe(2);
    await until(() => second.events.length === 2);
    expect(second.events.map(({ kind }) => kind)).toEqual(["joined", "done"]);
    expect(await queue.results("walk")).toEqual([]);
    await queue.close();
  });

  it.each(["there", "restarted"])("that plays for long keeps its job, the server %s", async (state) => {
    const { trainer, evaluator, server, simulation } = started();
    const queue = trainer();
    await queue.submit(job(1));
    let began = 0;
    const evaluate: typeof stepAsReturn = async (asked) => {
      began++;
      await simulation.wait(200_000);
      return stepAsReturn(asked);
    };
    for (const name of ["a", "b"]) evaluator(name, { evaluate });
    await until(() => began === 1);
    // It delivers the job again, though that is played.
    if (state === "restarted") server.crash(3000);
    expect(returns(await all(queue))).toEqual([[1, 1]]);
    expect(began).toBe(1);
    if (state === "there") expect(server.counts.deliveries).toBe(1);
    await queue.close();
  });

  it("that leaves gives its job back: another has it at once, and no death is counted", async () => {
    const { trainer, evaluator, simulation } = started();
    const queue = trainer();
    await queue.submit(job(1));
    for (const name of ["a", "b", "c", "d", "e", "f"]) {
      let began = false;
      const leaver = evaluator(name, {
        evaluate: (...given) => {
          began = true;
          return never(...given);
        },
      });
      await until(() => began);
      leaver.leave();
      expect(await leaver.running).toEqual({ why: "stopped", jobs: 0 });
      expect(leaver.events.at(-1)).toMatchObject({ kind: "returned", job: { step: 1 } });
    }
    const { now } = simulation;
    evaluator("last", { evaluate: stepAsReturn });
    expect(returns(await all(queue))).toEqual([[1, 1]]);
    expect(simulation.now - now).toBeLessThan(10_000);
    await queue.close();
  });

  it("leaves after as many jobs as it was asked for", async () => {
    const { trainer, evaluator } = started();
    const queue = trainer();
    for (const step of [1, 2, 3]) await queue.submit(job(step));
    const two = evaluator("a", { evaluate: stepAsReturn, jobs: 2 });
    expect(await two.running).toEqual({ why: "jobs", jobs: 2 });
    evaluator("b", { evaluate: stepAsReturn });
    expect(returns(await all(queue))).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    await queue.close();
  });
});

describe("a job", () => {
  it("that evaluators die of is a failure after five", async () => {
    const { trainer, evaluator } = started();
    const queue = trainer();
    await queue.submit(job(1));
    for (const name of ["a", "b", "c", "d", "e"]) {
      let began = false;
      const mortal = evaluator(name, {
        evaluate: (...given) => {
          began = true;
          return never(...given);
        },
      });
      await until(() => began);
      mortal.broker.kill();
    }
    evaluator("f", { evaluate: stepAsReturn });
    const [outcome] = await all(queue);
    expect(outcome?.failure).toMatchObject({
      code: "EVALUATOR_FAILED",
      message: expect.stringMatching(
        /evaluator f on .*: 5 evaluators have died with it: a, b, c, d, e .*\n.*espalier evaluate \/nowhere\/1/s,
      ),
    });
    await queue.close();
  });

  it("keeps its outcome when what was written before, and given up, arrives late", async () => {
    const { trainer, evaluator, server } = started();
    server.faults = { ...noFaults, watched: 1 }; // The trainer has to look.
    const queue = trainer();
    const inner = server.connect("late");
    const puts: (() => Promise<unknown>)[] = [];
    const broker: Broker = {
      ...{ address: inner.address, maxPayload: inner.maxPayload, timers: inner.timers },
      queue: (...given) => inner.queue(...given),
      values: async (name, options) => {
        const values = await inner.values(name, options);
        if (!name.endsWith("records")) return values;
        const put: BrokerValues["put"] = async (...given) => {
          puts.push(() => values.put(...given));
          if (puts.length === 1) throw new EspalierError("CLUSTER_NO_ANSWER", "late");
          const revision = await values.put(...given);
          // After the outcome comes the first.
          if (puts.length === 3) await puts[0]?.();
          return revision;
        };
        return { ...values, put };
      },
      announce: (...given) => inner.announce(...given),
      listen: (...given) => inner.listen(...given),
      remove: (prefix) => inner.remove(prefix),
      close: () => inner.close(),
    };
    evaluator("a", { evaluate: stepAsReturn, broker });
    await queue.submit(job(1));
    expect(returns(await all(queue))).toEqual([[1, 1]]);
    expect(puts).toHaveLength(3);
    await queue.close();
  });

  it("whose checkpoint is not there fails at the first try, and says which address; the next is evaluated", async () => {
    const { trainer, evaluator } = started();
    const directory = folder();
    const task = new WalkTask(makeDrift, here("makeDrift"));
    await walkRun(task, [checkpointHook({ directory })], { epochs: 1 }).trainer.train();
    const queue = trainer();
    await queue.submit(job(1));
    await queue.submit(job(2, { checkpoint: directory }));
    const { events } = evaluator("a");
    const [missing, there] = await all(queue);
    expect(missing?.failure).toMatchObject({
      code: "CHECKPOINT_MISSING",
      message: expect.stringMatching(/^evaluator a on .*: there is no whole checkpoint at \/nowhere\/1/),
      fix: expect.stringMatching(/let this machine read \/nowhere\/1: .*s3:\/\//),
    });
    expect(there?.results?.[0]?.scores.episodes).toBe(2);
    await until(() => events.length === 3);
    expect(events.map(({ kind }) => kind)).toEqual(["joined", "failed", "done"]);
    await queue.close();
  });

  it("of a trainer that has closed is played no longer, and one of a trainer that was killed not at all", async () => {
    const { trainer, evaluator } = started();
    const killed = trainer({ process: "dead" });
    await killed.submit(job(1));
    const closed = trainer({ process: "next" });
    await closed.submit(job(2));
    const played: number[] = [];
    const { events } = evaluator("a", {
      evaluate: (asked, given) => {
        played.push(asked.step);
        return asked.step === 2 ? never(asked, given) : stepAsReturn(asked);
      },
    });
    await until(() => played.length > 0);
    const last = trainer({ process: "next" });
    await last.submit(job(3));
    await closed.close();
    expect(returns(await all(last))).toEqual([[3, 3]]);
    expect(played).toEqual([2, 3]);
    await until(() => events.length === 3);
    expect(events.map(({ kind }) => kind)).toEqual(["joined", "cancelled", "done"]);
    await last.close();
    await killed.close();
  });

  it("waits for a server that is away, and for room; then it is a failure that says what to do", async () => {
    const { trainer, evaluator, server, simulation } = started();
    const queue = trainer({ capacity: 2 });
    await queue.begin();
    server.crash(8000);
    await queue.submit(job(1));
    expect(simulation.now).toBeGreaterThan(8000);
    await queue.submit(job(2));
    await expect(queue.submit(job(3))).rejects.toMatchObject({
      code: "EVALUATIONS_FULL",
      fix: expect.stringContaining("espalier evaluator --run walk"),
    });
    const controller = new AbortController();
    const submitted = queue.submit(job(4), { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(submitted).rejects.toThrow("enough");
    evaluator("a", { evaluate: stepAsReturn });
    expect(returns(await all(queue))).toEqual([
      [1, 1],
      [2, 2],
    ]);
    await queue.close();
  });
});

describe("on a bad network", () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
    "every job has one outcome, whoever dies (seed %i)",
    async (seed) => {
      const simulation = new Simulation(seed);
      const { random } = simulation;
      const faults = { ...noFaults, watched: 0.3, acknowledgements: 0.1, doubled: 0.1, stragglers: 0.02 };
      const server = new SimulatedServer(simulation, { faults });
      const queue = new ClusterEvaluations({
        ...{ run: "walk", capacity: 100, submitWithin: 600, process: "trainer" },
        connect: async () => server.connect("trainer"),
      });
      const steps = Array.from({ length: 12 }, (_, i) => i + 1);
      const gone = new Set<string>();
      const living = new Map<string, { readonly kill: () => void; readonly leave: () => void }>();
      const startOne = (): void => {
        const name = `evaluator-${living.size + gone.size}`;
        const broker = server.connect(name);
        const leaving = new AbortController();
        living.set(name, { leave: () => leaving.abort(new Error("enough")), kill: () => broker.kill() });
        const given = { run: "walk", name, signal: leaving.signal, patience: 600, warn: () => undefined };
        runEvaluator({
          ...{ broker, ...given },
          evaluate: async (asked, { signal } = {}) => {
            await simulation.wait(random.between(100, 60_000));
            signal?.throwIfAborted();
            return stepAsReturn(asked);
          },
        }).catch(() => startOne()); // It could not join.
      };
      const disturb = (): void => {
        simulation.after(random.between(2000, 30_000), disturb);
        const kind = random.below(4);
        if (kind === 0) return void server.crash(random.between(100, 8000));
        const name = [...living.keys()][random.below(living.size)] ?? "";
        living.get(name)?.[kind === 1 ? "leave" : "kill"]();
        living.delete(name);
        gone.add(name);
        startOne();
      };
      for (let i = 0; i < 3; i++) startOne();
      simulation.after(10_000, disturb);
      const outcomes: EvaluationOutcome[] = [];
      const train = async (): Promise<void> => {
        for (const step of steps) {
          await queue.submit(job(step));
          await simulation.wait(random.between(0, 20_000));
          outcomes.push(...(await queue.results("walk")));
        }
        outcomes.push(...(await all(queue)));
      };
      let isOver = false;
      train().then(
        () => {
          isOver = true;
        },
        (error) => simulation.fail(error),
      );
      await simulation.run(() => isOver || simulation.now > 3_600_000);
      expect(outcomes.map((one) => one.job.step)).toEqual(steps);
      for (const { job: done, results, failure } of outcomes) {
        // A job may meet five that are killed: then they are named, and none of them lives.
        const named = failure?.message.match(/evaluator-\d+(?=,| \[)/g) ?? [];
        expect([named.length, results?.[0]?.scores.return]).toEqual(
          failure ? [3, undefined] : [0, done.step],
        );
        expect(named.filter((name) => !gone.has(name))).toEqual([]);
      }
    },
  );
});

describe("what does not fit", () => {
  it("is refused: names, options, runs and versions", async () => {
    expect(() => natsEvaluations({ run: "a b" })).toThrow(/CLUSTER_NAME/);
    expect(() => natsEvaluations({ run: "walk", capacity: 0 })).toThrow(/natsEvaluations: capacity is 0/);
    expect(() => natsEvaluations({} as never)).toThrow(/natsEvaluations: run is missing/);
    const { evaluator, server } = started();
    await expect(evaluator("a", { patience: 0 }).running).rejects.toMatchObject({
      code: "CLUSTER_RUN_UNKNOWN",
    });
    const broker = server.connect("other");
    const runs = await broker.values("espalier-runs");
    await runs.put("walk", encode({ run: "walk", state: "running", version: "0.0.0" }));
    await expect(evaluator("a").running).rejects.toMatchObject({ code: "CLUSTER_VERSION" });
  });

  it("is a server that refuses: the run ends before it has begun", async () => {
    const refused = new EspalierError("CLUSTER_REFUSED", "wrong token");
    const queue = new ClusterEvaluations({
      ...{ run: "walk", capacity: 1, submitWithin: 1, connect: () => Promise.reject(refused) },
    });
    const task = new WalkTask(makeDrift, here("makeDrift"));
    const evaluation = evaluationHook({
      ...{ player: task.player, suites, schedule: every({ epochs: 1 }), mode: "remote", queue },
    });
    const epochs: number[] = [];
    const counts: TrainerHook = {
      name: "counts",
      onEpochStart: ({ counters }) => void epochs.push(counters.epochs),
    };
    const { trainer } = walkRun(task, [evaluation, counts]);
    await expect(trainer.train()).rejects.toThrow(/evaluation\.begin.*wrong token \[CLUSTER_REFUSED\]/s);
    expect(epochs).toEqual([]);
  });

  it("is replays of a queue whose evaluators record none", () => {
    const { player } = new WalkTask(makeDrift, here("makeDrift"));
    const queue = { submit: async () => undefined, results: async () => [], close: async () => undefined };
    const given = { player, suites, schedule: every({ epochs: 1 }), mode: "remote", queue } as const;
    expect(() => evaluationHook({ ...given, replays: { directory: "x" } })).toThrow(EspalierError);
    evaluationHook({ ...given, queue: { ...queue, recordsReplays: true }, replays: { directory: "x" } });
  });
});
