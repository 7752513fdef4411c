import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { CheckpointManager, checkpointHook, localStore } from "../../checkpoint/index.ts";
import { systemClock } from "../../core/index.ts";
import { Logger, type MetricRecord, metricsHook, openStatsStore } from "../../metrics/index.ts";
import { every } from "../../schedule/index.ts";
import { describeInRest, describeInSample } from "../../sweep.test-support.ts";
import { type EvaluationScores, evaluationScores, type TrainerHook } from "../../trainer/index.ts";
import { evaluateCheckpoint } from "./evaluate-checkpoint.ts";
import { here, makeDrift } from "./evaluation.test-support.ts";
import { evaluationHook } from "./evaluation-hook.ts";
import {
  type EvaluationJob,
  type EvaluationOutcome,
  type EvaluationQueue,
  processQueue,
} from "./process-queue.ts";
import { folder, WalkTask, walkRun } from "./run.test-support.ts";
import { allScores } from "./suites.ts";

const drift = (): WalkTask => new WalkTask(makeDrift, here("makeDrift"));
const suites = { drift: { env: here("makeDrift") } };
/** Each starts Node and translates the program. */
const patience = { timeout: 300_000 };

/** Hears of every value of the slot. */
function heard(): { readonly hook: TrainerHook; readonly scores: EvaluationScores[] } {
  const scores: EvaluationScores[] = [];
  return {
    scores,
    hook: {
      name: "heard",
      onTrainingStart: () => undefined,
      onRegister: (host) =>
        host.observe({
          provided: (slot, value) => {
            if (slot.name === evaluationScores.name) scores.push(value as EvaluationScores);
          },
        }),
    },
  };
}

/** A queue that does what the test says, when it says so. */
function toldQueue(): EvaluationQueue & {
  readonly jobs: EvaluationJob[];
  finish(outcome: Partial<EvaluationOutcome>): void;
} {
  const jobs: EvaluationJob[] = [];
  const done: EvaluationOutcome[] = [];
  const open: EvaluationJob[] = [];
  return {
    jobs,
    submit: async (job) => {
      jobs.push(job);
      open.push(job);
    },
    finish: (outcome) => {
      const job = open.shift();
      if (job) done.push({ job, ...outcome });
    },
    results: async () => done.splice(0),
    close: async () => undefined,
  };
}

describeInSample("a remote evaluation", () => {
  it("takes the newest published checkpoint, each once, and files what comes under its step", async () => {
    const directory = folder();
    const queue = toldQueue();
    const { hook, scores } = heard();
    const task = drift();
    const checkpoint = checkpointHook({
      directory: `${directory}/own`,
      publish: [{ to: localStore(`${directory}/published`), schedule: every({ epochs: 2 }) }],
    });
    // What was written in the background is there before the next epoch begins.
    const settled: TrainerHook = { name: "settled", onEpochStart: () => trainer.hooks.settle() };
    const evaluation = evaluationHook({
      ...{ player: task.player, suites, episodes: 2, schedule: every({ epochs: 1 }), mode: "remote", queue },
    });
    const answer: TrainerHook = {
      name: "answer",
      onTrainingEnd: () => {
        for (const value of [5, 7])
          queue.finish({ results: [{ suite: "drift", scores: { return: value, episodes: 1 } }] });
      },
      before: ["evaluation.end"],
    };
    const { trainer, warnings } = walkRun(task, [evaluation, checkpoint, settled, hook, answer]);
    const result = await trainer.train();
    const published = (epoch: number, update: number) =>
      pathToFileURL(`${directory}/published/epoch-000${epoch}-update-00000${update}`).href;
    const own = pathToFileURL(`${directory}/own/epoch-0001-update-000002`).href;
    // At epoch 1 there is none yet; at 2 the one of epoch 1, not published; from 3 on those that were; at the end the
    // one that was saved after the last evaluation was due.
    expect(queue.jobs.map(({ checkpoint, step }) => [checkpoint, step])).toEqual([
      [own, 2],
      [published(2, 4), 4],
      [published(4, 8), 8],
      [pathToFileURL(`${directory}/published/epoch-0006-update-000012`).href, 12],
    ]);
    expect(queue.jobs[0]).toMatchObject({ run: "walk", episodes: 2, suites, deterministic: true });
    expect(warnings.join("\n")).toMatch(/evaluation: due at step 2, and there is no checkpoint yet/);
    expect(
      scores.map(({ scores, counters, checkpoint }) => [scores["drift.return"], counters.steps, checkpoint]),
    ).toEqual([
      [5, 2, own],
      [7, 4, published(2, 4)],
    ]);
    expect(warnings.join("\n")).toMatch(/2 evaluations have not come back/);
    expect(result.hookFailures).toMatchObject([
      { hook: "evaluation.end", error: { code: "EVALUATION_FAILED" } },
    ]);
  });

  it("protects the checkpoint while it is evaluated", async () => {
    const directory = folder();
    const queue = toldQueue();
    const task = drift();
    const kept: (readonly string[])[] = [];
    const names = async (): Promise<readonly string[]> =>
      (await new CheckpointManager({ store: localStore(directory) }).list()).map(({ name }) =>
        name.slice(0, 10),
      );
    const settled: TrainerHook = {
      name: "settled",
      onEpochStart: async ({ counters }) => {
        await trainer.hooks.settle();
        kept.push(await names());
        if (counters.epochs === 5) {
          queue.finish({ failure: new Error("no matter") });
          clock.advance(2000);
        }
      },
    };
    const evaluation = evaluationHook({
      ...{ player: task.player, suites, schedule: every({ epochs: 2 }), mode: "remote", queue },
    });
    const { trainer, warnings, clock } = walkRun(
      task,
      [evaluation, checkpointHook({ directory, keep: { last: 1 } }), settled],
      { epochs: 8 },
    );
    await trainer.train();
    // The one of epoch 1 is evaluated from epoch 2 to epoch 6.
    expect(kept.slice(3, 6)).toEqual([
      ["epoch-0001", "epoch-0003"],
      ["epoch-0001", "epoch-0003", "epoch-0004"],
      ["epoch-0001", "epoch-0003", "epoch-0005"],
    ]);
    expect(kept.at(7)).toEqual(["epoch-0003", "epoch-0005", "epoch-0007"]);
    expect(warnings.join("\n")).toMatch(/epoch-0001-update-000002 \(step 2\) failed: no matter/);
  });
});

describeInSample("at the end of a run, a remote evaluation", () => {
  const jobsOf = async (due: number, stop = false): Promise<readonly number[]> => {
    const queue = toldQueue();
    const task = drift();
    const evaluation = evaluationHook({
      ...{ player: task.player, suites, mode: "remote", queue, schedule: every({ epochs: due }) },
    });
    const checkpoint = checkpointHook({ directory: folder(), schedule: every({ epochs: 2 }) });
    const fails: TrainerHook = {
      name: "fails",
      onEpochStart: async ({ counters }) => {
        await trainer.hooks.settle();
        if (stop && counters.epochs === 4) throw new Error("enough");
      },
    };
    const { trainer } = walkRun(task, [evaluation, checkpoint, fails]);
    await trainer.train().catch(() => undefined);
    return queue.jobs.map(({ step }) => step);
  };

  it("takes the last checkpoint where one was due since the last that it took", async () => {
    expect(await jobsOf(2)).toEqual([4, 8, 12]);
    expect(await jobsOf(7)).toEqual([]); // Never due.
    expect(await jobsOf(2, true)).toEqual([4]); // A run that failed waits for nothing.
  });

  it("that was due and had nothing to evaluate has failed", async () => {
    const task = drift();
    const evaluation = evaluationHook({
      ...{ player: task.player, suites, mode: "remote", queue: toldQueue(), schedule: every({ epochs: 2 }) },
    });
    const { hookFailures } = await walkRun(task, [evaluation]).trainer.train();
    expect(hookFailures).toMatchObject([{ count: 1, error: { code: "EVALUATION_FAILED" } }]);
  });
});

describeInRest("a process queue", patience, () => {
  it("evaluates in processes that know nothing but addresses, and hears of it through SQLite", async () => {
    const directory = folder();
    const location = `${directory}/stats.db`;
    const store = await openStatsStore(location);
    const task = drift();
    const { hook, scores } = heard();
    const pids: number[] = [];
    const queue = processQueue({ store: location, started: (pid) => void pids.push(pid) });
    const evaluation = evaluationHook({
      ...{
        player: task.player,
        suites,
        episodes: 3,
        schedule: every({ epochs: 3 }),
        mode: "remote",
        queue,
        run: "the-run",
      },
    });
    const metrics = metricsHook({
      logger: new Logger({ sinks: [] }),
      ...{ statsStore: store, run: { id: "the-run" }, system: false, timing: false },
    });
    const { trainer, warnings } = walkRun(
      task,
      [
        evaluation,
        metrics,
        checkpointHook({
          ...{ directory: `${directory}/own`, schedule: every({ epochs: 2 }) },
          // An address that the evaluators cannot open: they take what the run saved.
          publish: [{ to: async () => "wandb-artifact:///us/walk/run:v1", schedule: every({ epochs: 2 }) }],
        }),
        { name: "settled", onEpochStart: () => trainer.hooks.settle() },
        hook,
      ],
      {},
      systemClock,
    );
    await trainer.train();
    expect(warnings).toEqual([]);
    expect(pids).toHaveLength(3);
    expect(pids).not.toContain(process.pid);
    const first = `${directory}/own/epoch-0002-update-000004`;
    const second = `${directory}/own/epoch-0004-update-000008`;
    // Those saved before an evaluation was due, and the one that was saved when the last was.
    const last = `${directory}/own/epoch-0006-update-000012`;
    const steps = [
      [4, pathToFileURL(first).href],
      [8, pathToFileURL(second).href],
      [12, pathToFileURL(last).href],
    ];
    expect(scores.map(({ counters, checkpoint }) => [counters.steps, checkpoint])).toEqual(steps);
    const again = await evaluateCheckpoint(second, { episodes: 3, suites });
    expect(scores[1]?.scores).toEqual(allScores(again.results));
    const rows = await store.list("the-run", "evaluation");
    expect(
      rows.filter(({ name }) => name === "drift").map(({ step, checkpoint }) => [step, checkpoint]),
    ).toEqual(steps);
    // All suites together, by the metrics.
    expect(rows.filter(({ name }) => name === "evaluation").map(({ checkpoint }) => checkpoint)).toEqual(
      scores.map(({ checkpoint }) => checkpoint),
    );
    await store.close();
  });

  it("whose process is killed: training goes on, the failure is warned of, counted and in the result, and the next is evaluated", async () => {
    const directory = folder();
    const task = drift();
    const { hook, scores } = heard();
    const started: number[] = [];
    const queue = processQueue({
      store: `${directory}/stats.db`,
      started: (pid) => {
        if (started.push(pid) === 1) process.kill(pid, "SIGKILL");
      },
    });
    const evaluation = evaluationHook({
      ...{ player: task.player, suites, episodes: 1, schedule: every({ epochs: 3 }), mode: "remote", queue },
    });
    const records: MetricRecord[] = [];
    const sink = { name: "kept", write: (all: readonly MetricRecord[]) => void records.push(...all) };
    const { trainer, warnings } = walkRun(task, [
      evaluation,
      checkpointHook({ directory: `${directory}/own`, schedule: every({ epochs: 2 }) }),
      { name: "settled", onEpochStart: () => trainer.hooks.settle() },
      hook,
      metricsHook({ logger: new Logger({ sinks: [sink] }), system: false, timing: false }),
    ]);
    const { outcome, hookFailures } = await trainer.train();
    expect(outcome).toBe("completed");
    expect(hookFailures).toMatchObject([
      { hook: "evaluation.end", event: "onTrainingEnd", count: 1, error: { code: "EVALUATION_FAILED" } },
    ]);
    const failed = records.filter(({ key }) => key === "health/evaluations.failed");
    expect(failed.map(({ value }) => value)).toEqual([1]);
    expect(started).toHaveLength(3);
    expect(warnings.join("\n")).toMatch(
      /hook "evaluation\.end" failed .*epoch-0002-update-000004 \(step 4\) failed: the evaluator process \d+ ended \(was killed by SIGKILL\)/s,
    );
    expect(scores.map(({ counters }) => counters.steps)).toEqual([8, 12]);
  });

  it("is told where its store is, and not given it", () => {
    for (const store of [{ location: "runs/stats.db" }, "", undefined])
      expect(() => processQueue({ store } as never)).toThrow(
        /processQueue: store is .*OPTION_INVALID\]\n.*a SQLite file, "runs\/stats.db", or a postgres:\/\/ URL/,
      );
  });
});
