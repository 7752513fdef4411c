import { describe, expect, it } from "vitest";
import type { EspalierError } from "../core/index.ts";
import { np, put, type Value } from "../engine/index.ts";
import { asLoss } from "../losses/index.ts";
import { Logger, type Sink } from "../metrics/index.ts";
import * as optim from "../optim/index.ts";
import { type Curriculum, type LessonResult, lessonCurriculum } from "../rl/index.ts";
import { every } from "../schedule/index.ts";
import { hashState, type StateTree } from "../state/index.ts";
import { evaluationScores, latestMetrics, Trainer } from "../trainer/index.ts";
import { largestGenerator, policy, startWorker, tracking } from "./largest.test-support.ts";
import type { Rollout, WeightSource } from "./rollout.ts";
import { type RolloutTaskOptions, rolloutTask } from "./task.ts";
import { inProcessTransport } from "./transport.ts";
import { RolloutWorker, type WorkerContext, type WorkerHook } from "./worker.ts";

/** Notes the events it hears of. */
const listening = (heard: string[]): WorkerHook => {
  const note = ({ event, step }: WorkerContext): void => void heard.push(`${event} ${step}`);
  return {
    name: "listening",
    onWorkerStart: note,
    onWeights: note,
    onLessonStart: note,
    onRolloutEnd: note,
    onStep: note,
    onError: note,
    onWorkerEnd: note,
  };
};

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: EspalierError) => error.code,
  );

/** Learns to give nothing, from rollouts of the problem of the largest number. */
const shrinkingTask = (
  options: Pick<RolloutTaskOptions<never, never>, "generator" | "worker" | "examples" | "transport">,
) =>
  rolloutTask({
    init: (_, where) => ({ w: put(new Float32Array(16), { shape: [4, 4], ...where }) }),
    forward: (params, { numbers }: { readonly numbers: Value }) => np.matmul(numbers, params.w as Value),
    losses: [asLoss((outputs: Value) => np.mean(np.square(outputs)), "size")],
    optimizer: optim.sgd({ learningRate: 0.1 }),
    ...{ batchSize: 16, engine: "wasm" },
    ...options,
  });

describe("a rollout worker", () => {
  it("takes weights, draws a lesson, sends a rollout and runs hooks, step by step", async () => {
    const heard: string[] = [];
    const { worker, transport } = await startWorker({ hooks: [listening(heard)] });
    const result = await worker.run({ steps: 2 });
    expect(result).toEqual({ outcome: "completed", reason: undefined, steps: 2 });
    expect(heard).toEqual([
      "onWorkerStart 0",
      "onWeights 0",
      "onLessonStart 0",
      "onRolloutEnd 1",
      "onStep 1",
      "onLessonStart 1",
      "onRolloutEnd 2",
      "onStep 2",
      "onWorkerEnd 2",
    ]);
    const rollouts = [await transport.take(), await transport.take()];
    expect(rollouts.map((each) => each?.id)).toEqual(["worker-0-0", "worker-0-1"]);
    expect(rollouts[0]).toMatchObject({ worker: "worker-0", weightId: 0, episodes: 16 });
    expect(worker.counters).toMatchObject({ steps: 2, batches: 2, samples: 32, updates: 0 });
  });

  it("gives hooks the worker, the step, a key of the step, the lesson and metadata", async () => {
    const seen: Partial<WorkerContext>[] = [];
    const { worker } = await startWorker({
      hooks: [
        {
          name: "adding",
          before: ["seeing"],
          onRolloutEnd: ({ metadata }) => {
            metadata.mine = 7;
          },
        },
        {
          name: "seeing",
          onStep: ({ worker, step, rng, lessonId, metadata, components }) =>
            void seen.push({ worker, step, rng, lessonId, metadata, components }),
        },
      ],
    });
    await worker.evaluate({ lessons: ["pair"] }).catch(() => undefined);
    const rollout = await worker.step();
    await worker.evaluate({ examples: 8 });
    await worker.step();
    await worker.close();
    expect(seen[0]).toMatchObject({ worker, step: 1, lessonId: rollout?.lesson });
    expect(seen[0]?.metadata).toMatchObject({ reward: rollout?.return, weightId: 0, length: 1, mine: 7 });
    expect(seen[0]?.metadata?.performance).toBeUndefined();
    expect(seen[1]?.metadata?.performance).toBeGreaterThanOrEqual(0);
    expect(seen[0]?.rng).toHaveLength(2);
    expect(seen[1]?.rng).not.toEqual(seen[0]?.rng);
    expect(Object.keys(seen[0]?.components ?? {})).toEqual(
      expect.arrayContaining(["worker", "time", "curriculum", "tracker", "slots"]),
    );
  });

  it("goes on while a hook in the background looks at the step as it was", async () => {
    const seen: unknown[] = [];
    const background: WorkerHook = {
      name: "background",
      schedule: every({ steps: 2 }),
      background: { reads: [] },
      onStep: async (context) => {
        const { rollout } = context;
        for (let turn = 0; turn < 3; turn++) await new Promise((done) => setImmediate(done));
        const { step, counters, lessonId, metadata } = context;
        seen.push([step, counters.steps, lessonId === rollout?.lesson, metadata.reward === rollout?.return]);
      },
    };
    const { worker } = await startWorker({ hooks: [background] });
    await worker.run({ steps: 5 });
    expect(seen).toEqual([
      [2, 2, true, true],
      [4, 4, true, true],
    ]);
    const reading = await startWorker({ hooks: [{ ...background, background: { reads: ["worker"] } }] });
    await expect(reading.worker.run({ steps: 5 })).rejects.toThrowError(/no components: worker/);
  });

  it("rolls nothing out before the first weights", async () => {
    const transport = inProcessTransport();
    const generator = largestGenerator();
    const worker = new RolloutWorker({ generator, link: transport.worker("worker-0") });
    expect(await codeOf(worker.evaluate())).toBe("WEIGHTS_MISSING");
    const first = worker.step();
    for (let turn = 0; turn < 10; turn++) await new Promise((done) => setImmediate(done));
    expect(transport.stats.accepted).toBe(0);
    await transport.publish(policy(3));
    expect((await first)?.weightId).toBe(3);
    await transport.close();
    expect(await worker.step()).toBeUndefined();
    expect(await worker.run()).toMatchObject({ outcome: "stopped", reason: "the transport was closed" });
  });

  it("makes the same rollouts from the same seed and name, and others from another name", async () => {
    const rolloutsOf = async (name: string, seed: number): Promise<string> => {
      const { worker } = await startWorker({ name, seed });
      const made: StateTree[] = [];
      for (let i = 0; i < 3; i++) made.push(...arraysOf(await worker.step()));
      await worker.close();
      return hashState(made);
    };
    const [first, again, named, seeded] = await Promise.all([
      rolloutsOf("a", 1),
      rolloutsOf("a", 1),
      rolloutsOf("b", 1),
      rolloutsOf("a", 2),
    ]);
    expect(again).toBe(first);
    expect(new Set([first, named, seeded]).size).toBe(3);
  });

  it("of a task draws from the seed of the run, unless it has its own", async () => {
    const drawnWith = async (seed: number, own?: number): Promise<string> => {
      const drawn: StateTree[] = [];
      const task = shrinkingTask({
        generator: largestGenerator(),
        worker: {
          ...(own !== undefined && { seed: own }),
          hooks: [{ name: "keeping", onRolloutEnd: ({ rollout }) => void drawn.push(...arraysOf(rollout)) }],
        },
      });
      await new Trainer({ task, config: { epochs: 1, seed, handleSignals: false } }).train();
      return hashState(drawn);
    };
    expect(await drawnWith(1)).toBe(await drawnWith(1));
    expect(await drawnWith(2)).not.toBe(await drawnWith(1));
    expect(await drawnWith(2, 7)).toBe(await drawnWith(1, 7));
  });

  it("that sends nothing does not hold up the end of a run", async () => {
    const transport = inProcessTransport();
    const task = shrinkingTask({ transport });
    const trainer = new Trainer({ task, config: { epochs: 2 } });
    const running = trainer.train();
    transport.worker("silent");
    while ((await transport.worker("other").receive({ wait: true })) === undefined);
    trainer.stop("enough");
    expect(await running).toMatchObject({ outcome: "stopped", reason: "enough" });
    expect(task.counts.rollouts).toBe(0);
    await task.close();
  });

  it("of a task is not validated by scores that are no numbers", async () => {
    const evaluate = async () => ({ episodes: 2, return: Number.NaN, positive: 0 });
    const task = shrinkingTask({ generator: { ...largestGenerator(), evaluate }, examples: 2 });
    const trainer = new Trainer({ task, config: { epochs: 1, handleSignals: false } });
    expect(await codeOf(trainer.validate())).toBe("ROLLOUT_INVALID");
  });

  it("ends after the step in which a hook stops it, and is interrupted at once by its signal", async () => {
    const stopping = await startWorker({
      hooks: [{ name: "stopping", onStep: ({ step, stop }) => step === 3 && stop("enough") }],
    });
    expect(await stopping.worker.run({ steps: 10 })).toEqual({
      outcome: "stopped",
      reason: "enough",
      steps: 3,
    });
    expect(await codeOf(stopping.worker.step())).toBe("WORKER_ENDED");
    const { worker: busy } = await startWorker();
    expect(await Promise.all([codeOf(busy.step()), codeOf(busy.step())])).toEqual(["none", "WORKER_BUSY"]);
    await busy.close();

    const controller = new AbortController();
    const heard: string[] = [];
    const transport = inProcessTransport({ capacity: 1 });
    await transport.publish(policy(0));
    const waiting = new RolloutWorker({
      generator: largestGenerator(),
      link: transport.worker("worker-0"),
      hooks: [listening(heard)],
    });
    const running = waiting.run({ signal: controller.signal });
    while (transport.stats.accepted === 0) await new Promise((done) => setImmediate(done));
    controller.abort(new Error("the machine is needed"));
    const result = await running;
    expect(result).toMatchObject({ outcome: "interrupted", steps: 1 });
    expect(result.reason).toContain("the machine is needed");
    expect(heard.at(-1)).toBe("onWorkerEnd 1");
  });

  it("that is closed in the middle of a step makes no other, and what fails in that one is only said", async () => {
    const heard: string[] = [];
    const { worker } = await startWorker({
      hooks: [listening(heard), { name: "closing", onStep: ({ worker }) => worker.close() }],
    });
    expect(await worker.run({ steps: 5 })).toEqual({
      outcome: "stopped",
      reason: "the worker was closed",
      steps: 1,
    });
    expect(heard.filter((each) => each.startsWith("onWorkerEnd"))).toEqual(["onWorkerEnd 1"]);
    expect(await codeOf(worker.step())).toBe("WORKER_ENDED");

    let closed = false;
    const generator = {
      ...largestGenerator({ failing: () => closed }),
      close: () => {
        closed = true;
      },
    };
    const hooks: WorkerHook[] = [{ name: "closing", onLessonStart: ({ worker }) => worker.close() }];
    const failing = await startWorker({ generator, hooks });
    expect(await failing.worker.run()).toMatchObject({ outcome: "stopped", steps: 0 });
    expect(failing.warnings).toEqual([expect.stringContaining("the dice are lost")]);
  });

  it.each<[string, Partial<ConstructorParameters<typeof RolloutWorker>[0]>, string]>([
    ["a generator", { generator: largestGenerator({ failing: () => true }) }, "the dice are lost"],
    [
      "a hook",
      { hooks: [{ name: "bad", onStep: () => Promise.reject(new Error("no luck")) }] },
      'hook "bad" failed in onStep: no luck',
    ],
  ])("that fails in %s tells onError, then onWorkerEnd, then the caller", async (_, options, message) => {
    const heard: string[] = [];
    let error: unknown;
    const { worker } = await startWorker({
      ...options,
      hooks: [
        listening(heard),
        {
          name: "outcome",
          onWorkerEnd: (context) => {
            error = [context.outcome, context.error];
          },
        },
        ...(options.hooks ?? []),
      ],
    });
    const failure = await worker.run({ steps: 2 }).then(
      () => undefined,
      (cause: Error) => cause,
    );
    expect(failure?.message).toContain(message);
    expect(error).toEqual(["failed", failure]);
    expect(heard.slice(-2).map((each) => each.split(" ")[0])).toEqual(["onError", "onWorkerEnd"]);
  });

  it("closes its tracker and its generator, after everything is logged", async () => {
    const closed: string[] = [];
    const sink: Sink = {
      name: "kept",
      write: (records) => void closed.push(...records.map(({ key }) => key)),
      close: ({ outcome, counters }) => void closed.push(`${outcome} at ${counters.steps}`),
    };
    const { worker } = await startWorker({
      tracker: new Logger({ sinks: [sink] }),
      generator: { ...largestGenerator(), close: () => void closed.push("generator") },
      hooks: [{ name: "last", onWorkerEnd: ({ log }) => log({ words: 1 }) }],
      defaultHooks: false,
    });
    await worker.run({ steps: 2 });
    expect(closed[0]).toBe("generator");
    expect(closed).toContain("worker/words");
    expect(closed.at(-1)).toBe("completed at 2");
  });

  it("refuses wrong options, lessons that the generator has not got, and rollouts that are none", async () => {
    const generator = largestGenerator();
    const link = inProcessTransport().worker("worker-0");
    const make = (options: object) => () => new RolloutWorker({ generator, link, ...options });
    expect(make({ evalFrequenzy: 5 })).toThrowError(/evalFrequency/);
    expect(make({ microEvalFrequency: 0 })).toThrowError(/microEvalFrequency is 0/);
    expect(() => new RolloutWorker({ generator })).toThrowError(/transport/);
    expect(make({ curriculum: lessonCurriculum({ lessons: [{ name: "fore" }] }) })).toThrowError(/four/);
    for (const shares of [[Number.NaN, 1], [1], [0, 0], [10, 10], [-1, 2]]) {
      const curriculum = lessonCurriculum({ lessons: [{ name: "pair" }, { name: "four" }] });
      curriculum.shares = () => Float32Array.from(shares);
      const { worker } = await startWorker({ curriculum });
      expect(await codeOf(worker.step())).toBe("CURRICULUM_INVALID");
    }
    const needing = await startWorker({
      hooks: [{ name: "needing", needs: [latestMetrics], run: () => {} }],
    });
    expect(await codeOf(needing.worker.run())).toBe("SLOT_NOT_PROVIDED");
    expect(needing.warnings).toEqual([]);
    for (const bad of [
      { arrays: {}, episodes: 1, return: Number.NaN, positive: 0 },
      { arrays: { x: { data: new Float32Array(3), shape: [2] } }, episodes: 0, return: 0, positive: 0 },
    ]) {
      const { worker } = await startWorker({ generator: { ...generator, rollout: async () => bad } });
      expect(await codeOf(worker.step())).toBe("ROLLOUT_INVALID");
    }
    const { worker: steps } = await startWorker({});
    for (const wrong of [{ steps: -1 }, { steps: 1.5 }, { steps: Number.NaN }])
      expect(await codeOf(steps.run(wrong))).toBe("OPTION_INVALID");
    await steps.step();
    expect(await codeOf(steps.evaluate({ examples: 0 }))).toBe("OPTION_INVALID");
    const slip: object = { example: 2 };
    expect(await codeOf(steps.evaluate(slip))).toBe("OPTION_UNKNOWN");
    const withArrays = (arrays: string) =>
      `{ "episodes": 0, "return": 0, "positive": 0, "arrays": ${arrays} }`;
    for (const json of [
      "null",
      withArrays('{ "x": null }'),
      withArrays('{ "x": { "data": [1], "shape": [1] } }'),
      withArrays('{ "x": { "data": [1] } }'),
    ]) {
      const rollout = async () => JSON.parse(json);
      const { worker } = await startWorker({ generator: { ...generator, rollout } });
      expect(await codeOf(worker.step())).toBe("ROLLOUT_INVALID");
    }
  });
});

const arraysOf = (rollout: Rollout | undefined): StateTree[] =>
  Object.values(rollout?.arrays ?? {}).map(({ data }) => data as StateTree);

describe("weights of a worker", () => {
  it("that cannot be received leave the old ones, are counted and said once", async () => {
    const transport = inProcessTransport({ capacity: 100 });
    const link = transport.worker("worker-0");
    await transport.publish(policy(1));
    let broken = false;
    const weights: WeightSource = {
      receive: (options) => (broken ? Promise.reject(new Error("the line is dead")) : link.receive(options)),
    };
    const warnings: string[] = [];
    const worker = new RolloutWorker({
      ...{ generator: largestGenerator(), weights, rollouts: link },
      warn: (text) => warnings.push(text),
    });
    await worker.step();
    broken = true;
    await transport.publish(policy(2));
    expect([(await worker.step())?.weightId, (await worker.step())?.weightId]).toEqual([1, 1]);
    broken = false;
    expect((await worker.step())?.weightId).toBe(2);
    expect(worker.stats).toEqual({ weightsTaken: 2, receivesFailed: 2, weightsRefused: 0 });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("the line is dead");
    await worker.close();
  });

  it("of another shape are refused, named and counted; where there are no old ones they fail it", async () => {
    const { worker, transport, warnings } = await startWorker();
    await worker.step();
    const wrong = { id: 5, arrays: { w: { data: new Float32Array(6), shape: [3, 2] } } };
    await transport.publish(wrong);
    expect((await worker.step())?.weightId).toBe(0);
    expect(worker.stats.weightsRefused).toBe(1);
    expect(warnings.join()).toMatch(/weights 5.*"w".*\[3,2\]/);
    await transport.publish(policy(6));
    expect((await worker.step())?.weightId).toBe(6);
    await worker.close();

    const fresh = inProcessTransport();
    await fresh.publish(wrong);
    const late = new RolloutWorker({ generator: largestGenerator(), link: fresh.worker("worker-0") });
    expect(await codeOf(late.run())).toBe("WEIGHTS_INVALID");
    expect(await codeOf(fresh.take())).toBe("WORKERS_ENDED"); // A trainer does not wait for it.
  });

  it("with lower ids are taken after a rollback, and schedules in updates go on from there", async () => {
    const due: number[] = [];
    const { worker, transport } = await startWorker({
      defaultHooks: false,
      hooks: [
        {
          name: "watch",
          schedule: every({ updates: 100 }),
          onStep: ({ counters }) => void due.push(counters.updates),
        },
      ],
    });
    const used: (number | undefined)[] = [];
    for (const id of [160, 180, 220, 90, 95, 130, 190, 205]) {
      await transport.publish(policy(id));
      used.push((await worker.step())?.weightId);
    }
    expect(used).toEqual([160, 180, 220, 90, 95, 130, 190, 205]);
    expect(due).toEqual([220, 130, 205]); // What was before its first weights it has not crossed.
    await worker.close();
  });
});

/** A curriculum that notes what it is told. */
function noting(): Curriculum & {
  readonly trainings: LessonResult[];
  readonly evaluations: LessonResult[][];
} {
  const trainings: LessonResult[] = [];
  const evaluations: LessonResult[][] = [];
  return {
    ...{ lessons: ["pair", "four"], trainings, evaluations },
    shares: () => Float32Array.of(0, 1),
    trained: (results) => void trainings.push(...results),
    evaluated: (results) => void evaluations.push([...results]),
    metrics: () => ({ unlocked: 2 }),
    getState: () => ({}),
    setState: () => undefined,
  };
}

describe("a worker's own evaluations", () => {
  it("are one of the lesson every 10 steps, and one of all lessons every 100 updates, which moves the curriculum", async () => {
    const generator = largestGenerator();
    const curriculum = noting();
    const slots: unknown[] = [];
    const { tracker, filed } = tracking();
    const { worker, transport } = await startWorker({
      ...{ generator, curriculum, tracker },
      hooks: [
        {
          name: "reading",
          wants: [evaluationScores],
          onStep: ({ slots: { get } }) => void slots.push(get(evaluationScores)?.scores["four.return"]),
        },
      ],
    });
    for (let i = 0; i < 20; i++) {
      if (i === 15) await transport.publish(policy(101, 1000));
      await worker.step();
    }
    await worker.close();
    expect(curriculum.trainings).toHaveLength(20);
    expect(generator.evaluated).toEqual([
      { lesson: "four", examples: 4 },
      { lesson: "pair", examples: 64 },
      { lesson: "four", examples: 64 },
      { lesson: "four", examples: 4 },
    ]);
    expect(
      curriculum.evaluations.map((told) => told.map(({ lesson, return: mean }) => [lesson, mean])),
    ).toEqual([
      [
        [0, 1],
        [1, 1],
      ],
    ]);
    expect(slots.slice(13)).toEqual([undefined, undefined, 1, 1, 1, 1, 1]);
    expect(filed.map(({ key }) => key)).toEqual(
      expect.arrayContaining([
        "micro-evaluation/four.return",
        "evaluation/pair.return",
        "evaluation/return",
        "curriculum/unlocked",
        "rollout/episode.return",
      ]),
    );
  });

  it("follow the worker's configuration, or are left out", async () => {
    const steps = async (options: object): Promise<readonly number[]> => {
      const generator = largestGenerator();
      const found: number[] = [];
      const { worker } = await startWorker({ generator, ...options });
      for (let step = 1; step <= 12; step++) {
        const before = generator.evaluated.length;
        await worker.step();
        if (generator.evaluated.length > before) found.push(step);
      }
      await worker.close();
      return found;
    };
    expect(await steps({ evalUnit: "worker", evalFrequency: 6, microEvalFrequency: 4 })).toEqual([
      4, 6, 8, 12,
    ]);
    expect(await steps({ defaultHooks: false })).toEqual([]);
  });
});

describe("a restored worker", () => {
  it("goes on bit for bit", async () => {
    const make = () =>
      startWorker({
        curriculum: lessonCurriculum({ lessons: [{ name: "pair" }, { name: "four", after: ["pair"] }] }),
        ...{ microEvalFrequency: 3, evalFrequency: 5, evalUnit: "worker" },
        hooks: [
          {
            name: "adding",
            state: { runs: 0 },
            onStep() {
              if (this.state && "runs" in this.state) this.state.runs = Number(this.state.runs) + 1;
            },
          },
        ],
      });
    const stateOf = async ({ components }: RolloutWorker): Promise<Record<string, StateTree>> =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(components).map(async ([name, part]) => [name, await part.getState()]),
        ),
      );
    const whole = await make();
    const expected: StateTree[] = [];
    for (let i = 0; i < 12; i++) expected.push(...arraysOf(await whole.worker.step()));

    const first = await make();
    const made: StateTree[] = [];
    for (let i = 0; i < 7; i++) made.push(...arraysOf(await first.worker.step()));
    const saved = await stateOf(first.worker);
    await first.worker.close();
    const second = await make();
    for (const [name, part] of Object.entries(second.worker.components))
      await part.setState(saved[name] as StateTree);
    for (let i = 7; i < 12; i++) {
      const rollout = await second.worker.step();
      expect(rollout?.id).toBe(`worker-0-${i}`);
      made.push(...arraysOf(rollout));
    }
    expect(await hashState(made)).toBe(await hashState(expected));
    const [{ time: _, ...one }, { time: __, ...other }] = [
      await stateOf(whole.worker),
      await stateOf(second.worker),
    ];
    for (const name of Object.keys(one)) expect([name, other[name]]).toEqual([name, one[name]]);
    expect(one["hook.adding"]).toEqual({ runs: 12 });
    expect(one.worker).toMatchObject({ performance: { pair: expect.any(Number), four: expect.any(Number) } });
    await Promise.all([whole.worker.close(), second.worker.close()]);
  });

  it("refuses a state that is none", async () => {
    const { worker } = await startWorker();
    for (const name of ["worker", "time"])
      expect(() => worker.components[name]?.setState({ steps: 3 })).toThrowError(/STATE_INVALID/);
    await worker.close();
  });
});
