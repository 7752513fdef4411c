// Every listing of document 002, nearly line by line: each does what the document says of it.
import { describe, expect, it } from "vitest";
import { memoryStore } from "../checkpoint/index.ts";
import { hostRandom } from "../engine/index.ts";
import { type HookContext, HookManager, PeriodicHook } from "../hooks/index.ts";
import { smallTask } from "../metrics/hook/hook.test-support.ts";
import type { StateTree } from "../state/index.ts";
import { hookContext } from "../testing/index.ts";
import { evaluationScores, Trainer } from "../trainer/index.ts";
import {
  CheckpointHook,
  CompositeHook,
  EvaluationHook,
  evaluationHook,
  LoggingHook,
  MetricsHook,
} from "./hooks.ts";
import { largestGenerator, policy, startWorker, tracking } from "./largest.test-support.ts";
import type { RolloutWorker, WorkerContext, WorkerEvents, WorkerHook } from "./worker.ts";

/** So many steps of a worker that goes on afterwards. */
async function steps(worker: RolloutWorker, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await worker.step();
}

/** A trainer with these hooks, after its run of `updates` batches. */
async function trained(hooks: ConstructorParameters<typeof Trainer>[0]["hooks"], updates = 12) {
  const { tracker, filed } = tracking();
  const trainer = new Trainer({
    task: smallTask({}),
    config: { epochs: 100, maxUpdates: updates, validateAtEnd: false, handleSignals: false },
    hooks: hooks ?? [],
    logger: { as: (owner) => tracker.as(owner) },
  });
  await trainer.train();
  await tracker.flush();
  return { trainer, filed };
}

const at = (
  filed: readonly { readonly key: string; readonly step: number }[],
  key: string,
): readonly number[] => filed.filter((record) => record.key === key).map(({ step }) => step);

describe("Core components", () => {
  it("Hook: should_run decides, run does the work, and results are one record", async () => {
    class Greeting implements WorkerHook {
      readonly name = "greeting";
      shouldRun(context: WorkerContext): boolean {
        return context.step === 2;
      }
      run(context: WorkerContext): Readonly<Record<string, unknown>> {
        return { greeted: context.lessonId };
      }
    }
    const { worker } = await startWorker({ hooks: [new Greeting()], defaultHooks: false });
    await worker.step();
    expect(await worker.runHooks("onStep")).toBeUndefined();
    const rollout = await worker.step();
    expect(await worker.runHooks("onStep")).toEqual({ greeted: rollout?.lesson });
    await worker.close();
  });

  it("HookManager: registers, unregisters, clears and runs hooks of any host", async () => {
    const manager = new HookManager<Pick<WorkerEvents, "onStep">>({ events: ["onStep"] });
    const { worker } = await startWorker();
    const hook: WorkerHook = { name: "steps", run: ({ step }: WorkerContext) => ({ step }) };
    const contexts: WorkerContext[] = [];
    worker.registerHook({ name: "keeping", onStep: (context) => void contexts.push(context) });
    await worker.step();
    manager.register(hook);
    expect(await manager.run("onStep", contexts[0] as WorkerContext)).toEqual({ step: 1 });
    expect([manager.unregister(hook), manager.unregister(hook)]).toEqual([true, false]);
    manager.register(hook);
    manager.clear();
    expect(manager.list()).toEqual([]);
    await worker.close();
  });
});

describe("Usage examples", () => {
  it("Basic usage: a worker with a custom evaluation and logging", async () => {
    const { tracker, filed } = tracking();
    const generator = largestGenerator();
    const { worker } = await startWorker({ generator, tracker });

    const customEval = new EvaluationHook({ frequency: 50, nExamples: 32, evalType: "custom_eval" });
    worker.registerHook(customEval);
    const loggingHook = new LoggingHook({ frequency: 100 });
    worker.registerHook(loggingHook);

    await worker.run({ steps: 100 });
    expect(at(filed, "custom_eval-50/four.return")).toEqual([50, 100]);
    expect(generator.evaluated.filter(({ examples }) => examples === 32)).toHaveLength(4);
    expect(at(filed, "logging-100/reward")).toEqual([100]);
    expect(at(filed, "micro-evaluation/return")).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
  });

  it("CustomMonitoringHook: collects metrics and logs them to the worker's tracker", async () => {
    class CustomMonitoringHook extends PeriodicHook<WorkerContext> {
      readonly metrics: Readonly<Record<string, unknown>>[] = [];
      constructor() {
        super({ frequency: 25 });
      }
      override run(context: WorkerContext): Readonly<Record<string, unknown>> {
        const metrics = {
          "monitoring.step": context.step,
          "monitoring.lesson": context.lessonId,
          "monitoring.timestamp": context.clock.wall(),
        };
        this.metrics.push(metrics);
        context.worker.tracker.log(metrics, context.step);
        return metrics;
      }
    }
    const { tracker, filed } = tracking();
    const { worker } = await startWorker({ tracker });
    const hook = new CustomMonitoringHook();
    worker.registerHook(hook);
    await worker.run({ steps: 60 });
    expect(hook.metrics.map((each) => each["monitoring.step"])).toEqual([25, 50]);
    const lessons = filed.filter(({ key }) => key === "train/monitoring.lesson").map(({ value }) => value);
    expect(lessons).toEqual(hook.metrics.map((each) => each["monitoring.lesson"]));
  });

  it("TestEvaluationHook: a test looks at what its own hook has seen", async () => {
    class TestEvaluationHook {
      readonly name = "test-evaluation";
      readonly evaluations: Readonly<Record<string, unknown>>[] = [];
      shouldRun(context: WorkerContext): boolean {
        return context.step % 5 === 0;
      }
      run(context: WorkerContext): Readonly<Record<string, unknown>> {
        const result = { testEval: context.step };
        this.evaluations.push(result);
        return result;
      }
    }
    const testHook = new TestEvaluationHook();
    const { worker } = await startWorker();
    worker.registerHook(testHook);
    await steps(worker, 10);
    worker.unregisterHook(testHook);
    await steps(worker, 5);
    await worker.close();
    expect(testHook.evaluations).toEqual([{ testEval: 5 }, { testEval: 10 }]);
  });

  it("HealthMonitoringHook: comes and goes while the worker runs", async () => {
    class HealthMonitoringHook extends PeriodicHook<WorkerContext> {
      readonly seen: number[] = [];
      cleaned = "";
      constructor() {
        super({ frequency: 2 });
      }
      override run(context: WorkerContext): void {
        this.seen.push(context.step);
      }
      onUnregister(reason: string): void {
        this.cleaned = reason;
      }
    }
    const healthMonitor = new HealthMonitoringHook();
    const { worker } = await startWorker();
    worker.registerHook({
      name: "supervisor",
      onRolloutEnd: ({ step, worker }) => {
        if (step === 3) worker.registerHook(healthMonitor);
        if (step === 9) worker.unregisterHook(healthMonitor);
      },
    });
    await worker.run({ steps: 20 });
    expect(healthMonitor.seen).toEqual([4, 6, 8]);
    expect(healthMonitor.cleaned).toBe("unregistered");

    const next = (await startWorker()).worker;
    expect(next.getHooks().map(({ name }) => name)).toEqual(["micro-evaluation", "evaluation"]);
    next.clearHooks();
    expect(next.getHooks()).toEqual([]);
    await next.close();
  });
});

describe("Migration guide", () => {
  it("two evaluations at 5 and 50 stand beside the defaults without a name, and log under their own", async () => {
    const { tracker, filed } = tracking();
    const { worker, transport } = await startWorker({ tracker });
    worker.registerHook(evaluationHook({ frequency: 5 }));
    worker.registerHook(evaluationHook({ frequency: 50 }));
    let slot: unknown;
    worker.registerHook({
      name: "reading",
      wants: [evaluationScores],
      onStep: ({ slots }) => {
        slot = slots.get(evaluationScores)?.counters.steps;
      },
    });
    await steps(worker, 30);
    await transport.publish(policy(100));
    await steps(worker, 25);
    await worker.close();
    expect(worker.getHooks().map(({ name }) => name)).toEqual([
      "micro-evaluation",
      "evaluation",
      "eval-5",
      "eval-50",
      "reading",
    ]);
    expect(at(filed, "eval-5/return")).toEqual([5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55]);
    expect(at(filed, "eval-50/return")).toEqual([50]);
    expect(at(filed, "evaluation/return")).toEqual([31]);
    expect(slot).toBe(31);
    expect(worker.hooks.explain("eval-50", "onStep", { counters: worker.counters }).text).toContain("50");
    expect(worker.hooks.plan().text).toContain("eval-5");
  });

  it("a second evaluation of the same kind is refused, with the fix", async () => {
    const { worker } = await startWorker();
    worker.registerHook(evaluationHook({ frequency: 5 }));
    expect(() => worker.registerHook(evaluationHook({ frequency: 5, nExamples: 2 }))).toThrowError(
      /"eval-5"/,
    );
    worker.registerHook(evaluationHook({ frequency: 5, evaluateAllLessons: false }));
    expect(() => evaluationHook({ frequency: 5.5 })).toThrowError(/frequency/);
    await worker.close();
  });
});

describe("Best practices", () => {
  class ConfigurableHook extends PeriodicHook<WorkerContext> {
    readonly threshold: number;
    enabled: boolean;
    readonly ran: number[] = [];
    constructor({ frequency = 100, threshold = 0.9, enabled = true } = {}) {
      super({ frequency });
      this.threshold = threshold;
      this.enabled = enabled;
    }
    override shouldRun(context: WorkerContext): boolean {
      return this.enabled && super.shouldRun(context);
    }
    override run({ step }: WorkerContext): Readonly<Record<string, unknown>> {
      this.ran.push(step);
      return { threshold: this.threshold };
    }
  }

  it("ConfigurableHook: frequency, threshold and enabled", async () => {
    const hook = new ConfigurableHook({ frequency: 4 });
    const { worker } = await startWorker({ hooks: [hook] });
    await steps(worker, 6);
    hook.enabled = false;
    await steps(worker, 4);
    hook.enabled = true;
    await steps(worker, 3);
    await worker.close();
    expect(hook.ran).toEqual([4, 12]);
  });

  it("test_custom_hook: a hook alone, on a context made by hand", async () => {
    const { worker } = await startWorker();
    const hook = new ConfigurableHook();
    const context: WorkerContext = {
      ...hookContext({ counters: { steps: 100 } }),
      ...{
        worker,
        step: 100,
        rng: hostRandom.hostKey(42),
        lessonId: "pair",
        metadata: {},
        rollout: undefined,
      },
    };
    expect(hook.shouldRun(context)).toBe(true);
    expect(hook.run(context)).toEqual({ threshold: 0.9 });
    await worker.close();
  });
});

describe("Advanced usage", () => {
  it("ConditionalHook: step, lesson and performance", async () => {
    const ran: number[] = [];
    class ConditionalHook {
      readonly name = "conditional";
      shouldRun(context: WorkerContext): boolean {
        return context.step > 15 && context.lessonId === "four" && (context.metadata.performance ?? 0) > 0.8;
      }
      run(context: WorkerContext): void {
        ran.push(context.step);
      }
    }
    const { worker, transport } = await startWorker({ microEvalFrequency: 5 });
    worker.registerHook(new ConditionalHook());
    const lessons: (string | undefined)[] = [undefined];
    for (let step = 1; step <= 60; step++) {
      if (step === 31) await transport.publish(policy(50, 1000)); // From here on it is always right.
      lessons.push((await worker.step())?.lesson);
    }
    await worker.close();
    expect(ran.length).toBeGreaterThan(3);
    expect(ran.every((step) => step > 30 && lessons[step] === "four")).toBe(true);
  });

  it("StatefulHook: its state is a plain object, which a restored worker goes on with", async () => {
    class StatefulHook extends PeriodicHook<WorkerContext> {
      readonly state = { runs: 0, totalReward: 0 };
      constructor() {
        super({ frequency: 5 });
      }
      override run(context: WorkerContext): Readonly<Record<string, unknown>> {
        this.state.runs += 1;
        this.state.totalReward += context.metadata.reward ?? 0;
        return { avgReward: this.state.totalReward / this.state.runs };
      }
    }
    const first = await startWorker({ hooks: [new StatefulHook()] });
    await steps(first.worker, 12);
    const saved = (await first.worker.components["hook.StatefulHook"]?.getState()) as StateTree;
    const hook = new StatefulHook();
    const second = await startWorker({ hooks: [hook] });
    await second.worker.components["hook.StatefulHook"]?.setState(saved);
    await steps(second.worker, 5);
    expect(hook.state.runs).toBe(3);
    expect(hook.state.totalReward).toBeGreaterThan(0);
    await Promise.all([first.worker.close(), second.worker.close()]);
  });

  it("CompositeHook: three hooks as one, each with its own frequency", async () => {
    const { tracker, filed } = tracking();
    const { worker } = await startWorker({ tracker });
    const composite = new CompositeHook([
      new EvaluationHook({ frequency: 100 }),
      new LoggingHook({ frequency: 50 }),
      new MetricsHook({
        frequency: 25,
        metrics: ({ metadata }: WorkerContext) => ({ reward: metadata.reward }),
      }),
    ]);
    worker.registerHook(composite);
    await steps(worker, 100);
    expect(at(filed, "eval-100/return")).toEqual([]);
    await worker.tracker.flush();
    expect(at(filed, "eval-100/return")).toEqual([100]);
    expect(at(filed, "logging-50/steps")).toEqual([50, 100]);
    expect(at(filed, "metrics-25/reward")).toEqual([25, 50, 75, 100]);
    expect(worker.unregisterHook(composite)).toBe(true);
    expect(worker.getHooks()).toHaveLength(2);
    worker.registerHook(new CompositeHook([new LoggingHook({ frequency: 50 })]));
    await worker.close();
    expect(() => new CompositeHook([])).toThrowError(/HOOK_INVALID/);
  });

  it("the same hooks run on a trainer, without a word about events", async () => {
    const store = memoryStore();
    const ran: number[] = [];
    class Counting extends PeriodicHook {
      constructor() {
        super({ frequency: 4 });
      }
      override run({ counters }: HookContext): void {
        ran.push(counters.steps);
      }
    }
    const { filed } = await trained([
      new CompositeHook([
        new LoggingHook({ frequency: 6 }),
        new MetricsHook({ frequency: 3, metrics: ({ counters }) => ({ twice: 2 * counters.updates }) }),
        new Counting(),
      ]),
      new CheckpointHook({ frequency: 5, store }),
    ]);
    expect(ran).toEqual([4, 8, 12]);
    expect(at(filed, "logging-6/updates")).toEqual([6, 12]);
    expect(at(filed, "metrics-3/twice")).toEqual([3, 6, 9, 12]);
    expect(await store.list()).toHaveLength(2);
  });

  it("an EvaluationHook on a trainer says where it belongs", async () => {
    // @ts-expect-error Its context has a worker.
    await expect(trained([new EvaluationHook({ frequency: 2 })])).rejects.toThrow(/espalier\/rl/);
  });

  it("CheckpointHook: saves a worker at its times, and another goes on from there", async () => {
    const store = memoryStore();
    const make = () => {
      const checkpoints = new CheckpointHook({ frequency: 4, store, keep: { last: 2 } });
      return startWorker({ hooks: [checkpoints] }).then((made) => ({ ...made, checkpoints }));
    };
    const first = await make();
    expect(await first.checkpoints.restore(first.worker)).toBe(false);
    const expected: (number | undefined)[] = [];
    for (let i = 0; i < 14; i++) expected.push((await first.worker.step())?.return);
    await first.worker.close();
    const second = await make();
    expect(await second.checkpoints.restore(second.worker)).toBe(true);
    expect(second.worker.counters.steps).toBe(12);
    expect([(await second.worker.step())?.return, (await second.worker.step())?.return]).toEqual(
      expected.slice(12),
    );
    await second.worker.close();
    expect(() => new CheckpointHook({ frequency: 4 })).toThrowError(/directory/);
  });
});

describe("Troubleshooting", () => {
  it("a hook that does not run: every decision is printed, and explain says why", async () => {
    const { worker } = await startWorker({ hooks: [new LoggingHook({ frequency: 3 })] });
    await worker.step();
    const { runs, text } = worker.hooks.explain("logging-3", "onStep", { counters: worker.counters });
    expect([runs, text]).toEqual([false, expect.stringContaining("3")]);
    expect(worker.hooks.timings().find(({ hook }) => hook === "logging-3")?.count).toBe(0);
    await worker.close();
  });
});
