import { describe, expect, it } from "vitest";
import { EspalierError } from "../core/index.ts";
import { at, every } from "../schedule/index.ts";
import { type TrainerContext, type TrainerEvent, type TrainerHook, trainerEvents } from "./events.ts";
import { FakeTask, recorder, rollout, train } from "./task.test-support.ts";
import { Trainer } from "./trainer.ts";

const allKinds = () => new FakeTask({ epoch: () => [rollout(2), train(3)], validate: true });
const ends = (extra: readonly TrainerEvent[] = []) =>
  recorder(["onError", "onTrainingEnd", ...extra], {}, ({ event, outcome, reason, error }) =>
    [event, outcome, reason, error instanceof EspalierError ? error.code : error].filter(Boolean).join(" | "),
  );

describe("stop", () => {
  it("ends the run after the batch, with the end event and the first reason", async () => {
    const { hook, lines } = ends(["onBatchEnd", "onEpochEnd"]);
    const stopper: TrainerHook = {
      name: "stopper",
      before: ["recorder"],
      schedule: at({ updates: [2] }),
      onBatchEnd: ({ stop }) => {
        stop("seen enough");
        stop("again");
      },
    };
    const result = await new Trainer({
      task: new FakeTask(),
      config: { epochs: 3 },
      hooks: [stopper, hook],
    }).train();
    expect(result).toMatchObject({
      outcome: "stopped",
      reason: "seen enough",
      counters: { epochs: 0, batches: 2 },
    });
    expect(lines).toEqual(["onBatchEnd", "onBatchEnd", "onTrainingEnd | stopped | seen enough"]);
  });

  it("lets an epoch whose work is done have its end events", async () => {
    const { hook, lines } = recorder(["onValidationEnd", "onEpochEnd", "onTrainingEnd"]);
    const stopper: TrainerHook = { name: "stopper", onTrainPhaseEnd: ({ stop }) => stop("patience is over") };
    const task = new FakeTask({ validate: true });
    const result = await new Trainer({ task, config: { epochs: 3 }, hooks: [stopper, hook] }).train();
    expect(result).toMatchObject({ outcome: "stopped", counters: { epochs: 1 } });
    expect(lines).toEqual(["onValidationEnd 0/1/5", "onEpochEnd 0/1/5", "onTrainingEnd 0/1/5"]);
  });

  it.each(["onTrainingStart", "onEpochStart"] as const)("does no work when asked in %s", async (event) => {
    const task = new FakeTask();
    const hook = { name: "stopper", [event]: ({ stop }: TrainerContext) => stop("no") };
    const result = await new Trainer({ task, hooks: [hook] }).train();
    expect(result.outcome).toBe("stopped");
    expect(task.requests).toEqual([]);
  });

  it("ends long rollouts between calls", async () => {
    const task = new FakeTask({ epoch: () => [rollout(10, { maxFuse: 2 }), train(1)] });
    const { hook, lines } = recorder(["onRolloutStart", "onRolloutEnd", "onBatchStart"]);
    const stopper: TrainerHook = { name: "stopper", onBatchesEnd: ({ stop }) => stop("no") };
    await new Trainer({ task, hooks: [hook, stopper] }).train();
    expect(task.requests).toHaveLength(1);
    expect(lines).toHaveLength(1);
  });

  it("works from outside, before and after as well", async () => {
    const trainer = new Trainer({ task: new FakeTask() });
    trainer.stop("not today");
    expect(await trainer.train()).toMatchObject({ outcome: "stopped", reason: "not today" });
    trainer.stop("too late");
    expect(trainer.result?.reason).toBe("not today");
  });
});

describe("a failure", () => {
  const places = trainerEvents.filter((event) => event !== "onError" && event !== "onTrainingEnd");

  it.each(places)("in %s reaches onError, then onTrainingEnd, then the caller", async (event) => {
    const { hook, lines } = ends();
    const broken: TrainerHook = {
      name: "broken",
      [event]: () => {
        throw new Error("oh no");
      },
    };
    const trainer = new Trainer({ task: allKinds(), config: { epochs: 2 }, hooks: [broken, hook] });
    await expect(trainer.train()).rejects.toThrow(`hook "broken" failed in ${event}: oh no`);
    expect(lines).toEqual([
      "onError | HOOK_FAILED",
      expect.stringMatching(/^onTrainingEnd \| failed \| hook "broken" failed/),
    ]);
    expect(trainer.result).toMatchObject({ outcome: "failed", error: { code: "HOOK_FAILED" } });
  });

  it("in onTrainingEnd fails a run that was complete until then", async () => {
    const { hook, lines } = ends();
    const broken: TrainerHook = { name: "broken", onTrainingEnd: () => Promise.reject(new Error("oh no")) };
    const trainer = new Trainer({ task: allKinds(), hooks: [hook, broken] });
    await expect(trainer.train()).rejects.toThrow('hook "broken" failed in onTrainingEnd');
    expect(lines).toEqual(["onTrainingEnd | completed"]);
    expect(trainer.result?.outcome).toBe("failed");
  });

  it("is not hidden by failures of the end events", async () => {
    const warnings: string[] = [];
    const fail = (text: string) => () => {
      throw new Error(text);
    };
    const broken: TrainerHook = {
      name: "broken",
      onBatchEnd: fail("first"),
      onError: fail("second"),
      onTrainingEnd: fail("third"),
      onUnregister: fail("fourth"),
    };
    const trainer = new Trainer({
      task: allKinds(),
      hooks: [broken],
      warn: (text) => void warnings.push(text),
    });
    await expect(trainer.train()).rejects.toThrow("failed in onBatchEnd: first");
    expect(warnings.map((text) => /second|third|fourth/.exec(text)?.[0])).toEqual([
      "second",
      "third",
      "fourth",
    ]);
  });

  it.each([false, true])("of the task says where it happened (asynchronous: %s)", async (slow) => {
    const task = new FakeTask({ slow });
    const run = task.run.bind(task);
    task.run = (request) => {
      if (request.at.batches < 6) return run(request);
      if (slow) return Promise.reject(new Error("out of memory"));
      throw new Error("out of memory");
    };
    const { hook, lines } = ends();
    const trainer = new Trainer({ task, config: { epochs: 2, fuse: 3 }, hooks: [hook] });
    await expect(trainer.train()).rejects.toThrow(
      /the task's run failed in epoch 1 after 6 batches: out of memory \[TASK_FAILED\]/,
    );
    expect(lines[0]).toBe("onError | TASK_FAILED");
  });

  it("of the task that is an error of ours stays as it is", async () => {
    const error = new EspalierError("DATA_BROKEN", "row 3 is no number");
    const task = Object.assign(new FakeTask(), { validate: () => Promise.reject(error) });
    await expect(new Trainer({ task }).train()).rejects.toBe(error);
  });

  it("before the first event runs no events, and cleans hooks up", async () => {
    const cleaned: string[] = [];
    const { hook, lines } = ends(["onTrainingStart"]);
    const mine: TrainerHook = { ...hook, onUnregister: (reason) => void cleaned.push(reason) };
    const task = Object.assign(new FakeTask(), { begin: () => Promise.reject(new Error("no data")) });
    await expect(new Trainer({ task, hooks: [mine] }).train()).rejects.toThrow("no data");
    expect([lines, cleaned]).toEqual([[], ["closed"]]);
  });

  it("of a report that is none is explained", async () => {
    const task = Object.assign(new FakeTask(), { run: () => ({}) as never });
    await expect(new Trainer({ task }).train()).rejects.toThrow(/without metrics \[TASK_INVALID\]/);
  });
});

describe("hooks in the background", () => {
  const waiting = (work: (context: TrainerContext) => unknown): TrainerHook => ({
    name: "background",
    background: { reads: ["parameters"] },
    schedule: every({ epochs: 2 }),
    onEpochEnd: async (context) => {
      await new Promise((resolve) => setImmediate(resolve));
      await work(context);
    },
  });

  it("work on what was frozen, and are waited for before the end", async () => {
    const order: unknown[] = [];
    const task = new FakeTask();
    let then = 0;
    const onEpochEnd = () => {
      then = task.w;
    };
    await new Trainer({
      task,
      config: { epochs: 3 },
      hooks: [
        waiting(async ({ counters, snapshot, state }) => {
          const { parameters } = (await snapshot()).components;
          order.push([counters.epochs, state.counters.epochs, parameters]);
        }),
        { name: "note", schedule: at({ epochs: [2] }), onEpochEnd },
        { name: "end", onTrainingEnd: () => void order.push("end") },
      ],
    }).train();
    expect(order).toEqual([[2, 2, { w: then, used: 10, rollouts: 0 }], "end"]);
    expect(task.w).not.toBe(then);
  });

  it("are told where the components are that they look for", async () => {
    const task = new FakeTask();
    const hook = waiting(({ components }) => components.parameters?.getState());
    const trainer = new Trainer({ task, config: { epochs: 2 }, hooks: [hook] });
    await expect(trainer.train()).rejects.toMatchObject({
      cause: { code: "COMPONENT_LIVE" },
      fix: expect.stringContaining('(await context.snapshot()).components["parameters"]'),
    });
  });

  it("fail the run that would have been complete", async () => {
    const { hook, lines } = ends();
    const broken = waiting(() => {
      throw new Error("disk full");
    });
    await expect(
      new Trainer({ task: new FakeTask(), config: { epochs: 2 }, hooks: [broken, hook] }).train(),
    ).rejects.toThrow('hook "background" failed in onEpochEnd: disk full');
    expect(lines[0]).toBe("onError | HOOK_FAILED");
    expect(lines[1]).toContain("onTrainingEnd | failed");
  });
});

describe("what a trainer refuses", () => {
  it.each([
    ["a task without run", { epoch: () => [], snapshot: () => ({ components: {} }) }, 'no function "run"'],
    ["another step unit", Object.assign(new FakeTask(), { stepUnit: "tokens" }), 'stepUnit is "tokens"'],
    [
      "a component of the trainer's name",
      Object.assign(new FakeTask(), { components: { random: new FakeTask().components.parameters } }),
      'a component "random"',
    ],
  ])("%s", (_name, task, message) => {
    expect(() => new Trainer({ task: task as never })).toThrow(message);
  });

  it.each([
    [{ phase: "training" }, 'its phase is "training"'],
    [{ repeats: -1 }, "it has -1 repeats"],
    [{ maxFuse: 0 }, "its maxFuse is 0"],
    [{ adds: { sample: 3 } }, 'it adds to "sample"; did you mean "samples"?'],
    [{ adds: { epochs: 1 } }, 'it adds to "epochs"'],
    [{ adds: { samples: 0.5 } }, "it adds 0.5 to samples"],
  ])("a segment with %j", async (more, message) => {
    const task = new FakeTask({ epoch: () => [train(1, more as never)] });
    await expect(new Trainer({ task }).train()).rejects.toThrow(message);
  });

  it("a hook that cannot be registered, after cleaning up those before it", () => {
    const cleaned: string[] = [];
    const first: TrainerHook = {
      name: "first",
      onEpochEnd: () => {},
      onUnregister: (why) => void cleaned.push(why),
    };
    expect(() => new Trainer({ task: new FakeTask(), hooks: [first, { ...first }] })).toThrow(
      /HOOK_NAME_TAKEN/,
    );
    expect(cleaned).toEqual(["cleared"]);
  });

  it("a snapshot of what is not there", async () => {
    const hook: TrainerHook = { name: "look", onEpochEnd: ({ snapshot }) => snapshot(["parameter"]) };
    await expect(new Trainer({ task: new FakeTask(), hooks: [hook] }).train()).rejects.toThrow(
      'no component "parameter"; did you mean "parameters"?',
    );
  });
});
