import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../checkpoint/hook/runs.test-support.ts";
import { checkpointHook, localStore } from "../checkpoint/index.ts";
import { characterTokenizer } from "../data/index.ts";
import { compile, type EngineName, hostRandom, put, spec, type Value } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import {
  dpoLoss,
  grpoLoss,
  imitationLoss,
  referenceKlLoss,
  type TextLesson,
  textLessons,
  tokenOutputs,
} from "../language/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { every, never } from "../schedule/index.ts";
import { firstDifference } from "../state/index.ts";
import { loadModel } from "../supervised/index.ts";
import { describeInSample } from "../sweep.test-support.ts";
import { Trainer, type TrainingConfig } from "../trainer/index.ts";
import type { NamedArrays } from "./rollout.ts";
import { languageTask, textRollouts } from "./text.ts";
import { inProcessTransport } from "./transport.ts";
import { RolloutWorker } from "./worker.ts";

const tokenizer = characterTokenizer("\nabc=");
/** Says the letter again: "b=" is followed by "b". */
const echo: TextLesson = {
  name: "echo",
  problem: (random) => {
    const [first, second] = [random.pick(["a", "b", "c"]), random.pick(["a", "b", "c"])];
    return { prompt: `${first}${second}=`, answer: first };
  },
};
const model = nn.transformer({
  vocabulary: tokenizer.vocabulary,
  width: 16,
  layers: 1,
  heads: 2,
  context: 6,
});
const rolloutsOf = (engine: EngineName, more: Partial<Parameters<typeof textRollouts>[0]> = {}) =>
  textRollouts({
    model,
    tokenizer,
    lessons: [echo],
    length: 2,
    prompts: 6,
    group: 4,
    heldOut: 0,
    engine,
    ...more,
  });
const request = (seed: number) => ({
  lesson: "echo",
  key: hostRandom.hostKey(seed),
  signal: new AbortController().signal,
  warn: () => {},
});
const made = (engine: EngineName, more: Partial<Parameters<typeof languageTask>[0]> = {}) =>
  languageTask({
    model,
    generator: rolloutsOf(engine),
    worker: { microEvalFrequency: 2, evalFrequency: 4, evalExamples: 4 },
    losses: [grpoLoss(), referenceKlLoss({ weight: 0.01 })],
    optimizer: optim.adam({ learningRate: 3e-3 }),
    batchSize: 3,
    updates: 2,
    examples: 8,
    engine,
    ...more,
  });
const otherParams = () =>
  nn
    .transformer({ vocabulary: 5, width: 8, layers: 1, heads: 2, context: 6 })
    .init(0, spec([1, 1], "i32"), { engine: "wasm" });
const config = (more: Partial<TrainingConfig> = {}): Partial<TrainingConfig> => ({
  epochs: 4,
  seed: 5,
  handleSignals: false,
  ...more,
});

describe.each(sweepEngines())("text on %s", (engine) => {
  it("is rolled out in groups, with the log-probabilities of a whole pass", async () => {
    const generator = rolloutsOf(engine);
    const params = model.init(3, spec([1, 1], "i32"), { engine });
    await generator.setParams(params);
    const { arrays, episodes } = await generator.rollout(request(1));
    const { tokens, mask, logProbs, reward } = arrays as Required<NamedArrays>;
    expect([tokens?.shape, reward?.shape, episodes]).toEqual([[6, 4, 6], [6, 4], 24]);
    const whole = compile((p: nn.Params, t: Value): Value => tokenOutputs(model, p, t).logProbs, { engine });
    const t = put(tokens?.data as Int32Array, { shape: [6, 4, 6], engine });
    const found = await whole(params, t).read();
    let made = 0;
    for (const [i, is] of Array.from(mask?.data ?? []).entries()) {
      expect(Math.abs((logProbs?.data[i] as number) - is * (found[i] as number))).toBeLessThan(1e-4);
      made += is;
    }
    expect(made).toBeGreaterThan(24);
    // All samples of a group have one prompt; the mask begins behind it.
    for (let row = 0; row < 24; row++) {
      const own = tokens?.data.subarray(row * 6, row * 6 + 3);
      expect(own).toEqual(tokens?.data.subarray((row - (row % 4)) * 6, (row - (row % 4)) * 6 + 3));
      expect(Array.from(mask?.data.subarray(row * 6, row * 6 + 4) ?? [])).toEqual([0, 0, 0, 1]);
    }
    const again = await generator.rollout(request(1));
    expect(again.arrays).toEqual(arrays);
    expect((await generator.rollout(request(2))).arrays).not.toEqual(arrays);
  });

  it("is learned by GRPO from a warm start", async () => {
    const warm = made(engine, {
      generator: rolloutsOf(engine, { answers: true, prompts: 8 }),
      worker: { defaultHooks: false },
      losses: [imitationLoss()],
      keepUniform: true,
      optimizer: optim.adam({ learningRate: 0.02 }),
      batchSize: 8,
      updates: 1,
    });
    const scores: number[] = [];
    const score = async (task: typeof warm) => {
      const { signal } = new AbortController();
      const found = await task.validate?.({ counters: {} as never, signal });
      scores.push(found?.["echo.return"] as number);
    };
    await new Trainer({ task: warm, config: config({ epochs: 4 }), warn: () => {} }).train();
    await score(warm);
    const task = made(engine, {
      generator: rolloutsOf(engine, { prompts: 12 }),
      params: warm.params,
      worker: { defaultHooks: false },
      batchSize: 12,
      updates: 1,
      optimizer: optim.adam({ learningRate: 0.02 }),
      losses: [grpoLoss()],
      examples: 64,
    });
    await new Trainer({ task, config: config({ epochs: 20 }), warn: () => {} }).train();
    await score(task);
    expect(scores[0]).toBeLessThan(0.9);
    expect(scores[1]).toBeGreaterThan(0.95);
    expect(task.counts.useless).toBeGreaterThan(0);
  });

  it("goes on with the same bits from a checkpoint, from the middle of an epoch too", async () => {
    const whole = made(engine, { keepUniform: true });
    const trainer = new Trainer({ task: whole, config: config(), warn: () => {} });
    await trainer.train();
    const store = localStore(temporaryDirectory());
    for (const maxUpdates of [3, 6, undefined]) {
      const task = made(engine, { keepUniform: true });
      const hooks = [checkpointHook({ store, schedule: every({ updates: 1000 }) })];
      const part = new Trainer({
        task,
        config: config(maxUpdates ? { maxUpdates } : {}),
        hooks,
        warn: () => {},
      });
      const { counters } = await part.train();
      if (maxUpdates) expect(counters.updates).toBe(maxUpdates);
      else
        for (const [name, one] of Object.entries(task.components)) {
          if (name.endsWith(".time")) continue;
          const other = await trainer.components[name]?.getState();
          expect((await firstDifference(await one.getState(), other as never))?.text).toBeUndefined();
        }
    }
  });

  it("gives the same bits, fused or not", async () => {
    const [fused, single] = [made(engine), made(engine)];
    await new Trainer({ task: fused, config: config(), warn: () => {} }).train();
    await new Trainer({ task: single, config: config({ fuse: false }), warn: () => {} }).train();
    expect(await firstDifference(fused.params, single.params)).toBeUndefined();
  });
});

describeInSample("training from rollouts", () => {
  it("rolls out with a tokenizer of fewer tokens than the model", async () => {
    const padded = nn.transformer({ vocabulary: 12, width: 16, layers: 1, heads: 2, context: 6 });
    const generator = rolloutsOf("wasm", { model: padded, prompts: 12 });
    const params = padded.init(3, spec([1, 1], "i32"), { engine: "wasm" });
    await generator.setParams(params);
    const { arrays } = await generator.rollout(request(1));
    const { tokens, mask, logProbs } = arrays as Required<NamedArrays>;
    const whole = compile((p: nn.Params, t: Value): Value => tokenOutputs(padded, p, t).logProbs, {
      engine: "wasm",
    });
    const t = put(tokens?.data as Int32Array, { shape: [12, 4, 6], engine: "wasm" });
    const found = await whole(params, t).read();
    for (const [i, is] of Array.from(mask?.data ?? []).entries()) {
      expect(tokens?.data[i]).toBeLessThan(tokenizer.vocabulary);
      expect(Math.abs((logProbs?.data[i] as number) - is * (found[i] as number))).toBeLessThan(1e-4);
    }
  });

  it("learns from pairs by DPO", async () => {
    const pairs: TextLesson = {
      name: "echo",
      problem: (random) => {
        const letter = random.pick(["a", "b", "c"]);
        return { prompt: `${letter}=`, answer: letter, rejected: letter === "a" ? "b" : "a" };
      },
    };
    const metrics: number[] = [];
    const task = made("wasm", {
      generator: rolloutsOf("wasm", { lessons: [pairs], answers: true }),
      worker: { defaultHooks: false },
      losses: [dpoLoss()],
      optimizer: optim.adam({ learningRate: 0.01 }),
      batchSize: 6,
      updates: 1,
    });
    const watch = {
      name: "watch",
      onBatchEnd: async ({ state }: { readonly state: { readonly metrics: () => Promise<object> } }) => {
        const found = (await state.metrics()) as Readonly<Record<string, number>>;
        metrics.push(found["dpo.accuracy"] as number);
      },
    };
    await new Trainer({
      task,
      config: config({ epochs: 30 }),
      hooks: [watch as never],
      warn: () => {},
    }).train();
    expect(metrics.at(-1)).toBe(1);
  });

  it("takes rollouts of workers that go on meanwhile, none of them too old", async () => {
    const transport = inProcessTransport({ capacity: 2 });
    const seen: number[] = [];
    const worker = new RolloutWorker({
      generator: rolloutsOf("wasm"),
      link: transport.worker("worker-0"),
      defaultHooks: false,
      hooks: [{ name: "see", onRolloutEnd: ({ metadata }) => void seen.push(metadata.weightId as number) }],
    });
    const task = made("wasm", {
      generator: undefined as never,
      worker: undefined as never,
      examples: undefined,
      transport,
      losses: [grpoLoss()],
      maxStaleness: 4,
    });
    const running = worker.run();
    await new Trainer({ task, config: config({ epochs: 5 }), warn: () => {} }).train();
    await task.close();
    expect((await running).outcome).toBe("stopped");
    expect(new Set(seen).size).toBeGreaterThan(1);
    expect(task.counts.rollouts).toBeGreaterThanOrEqual(5);
    expect(task.counts.future + task.counts.duplicates).toBe(0);
  });

  it("says that only rollouts of other weights come", async () => {
    const generator = rolloutsOf("wasm", { prompts: 8 });
    await generator.setParams(model.init(0, spec([1, 1], "i32"), { engine: "wasm" }));
    const found = await generator.rollout(request(0));
    const transport = inProcessTransport({ capacity: 300 });
    const link = transport.worker("w");
    for (let n = 0; n < 258; n++)
      await link.send({ ...found, id: `w-${n}`, worker: "w", lesson: "echo", weightId: n < 256 ? 7 : 0 });
    const warnings: string[] = [];
    const task = made("wasm", {
      ...{ generator: undefined as never, worker: undefined as never, examples: undefined as never },
      ...{ transport, keepUniform: true, losses: [grpoLoss()] },
    });
    const warn = (text: string) => void warnings.push(text);
    await new Trainer({ task, config: config({ epochs: 1 }), warn }).train();
    expect(warnings.filter((text) => text.includes("weights 7"))).toHaveLength(1);
    expect(task.counts).toMatchObject({ future: 256, rollouts: 1 });
    await task.close();
  });

  it("is loaded from its checkpoint alone, and resumed with the same generator only", async () => {
    const directory = temporaryDirectory();
    const train = (more: Partial<Parameters<typeof textRollouts>[0]> = {}) => {
      const task = made("wasm", { generator: rolloutsOf("wasm", more), keepUniform: true });
      const hooks = [checkpointHook({ directory })];
      return new Trainer({ task, config: config({ epochs: 1 }), hooks, warn: () => {} }).train();
    };
    await train();
    const loaded = await loadModel(directory, { engine: "wasm" });
    expect(loaded.model.recipe).toEqual(model.recipe);
    await expect(train({ temperature: 2 })).rejects.toThrow(/temperature is 1 .* and 2/);
  });

  it("calls a tool in the middle of answers, whose tokens are not learned", async () => {
    const known = characterTokenizer("\nabc=?");
    const own = nn.transformer({ vocabulary: 6, width: 16, layers: 1, heads: 2, context: 32 });
    const generator = rolloutsOf("wasm", {
      ...{ model: own, tokenizer: known, length: 6, promptLength: 3 },
      tool: { stop: "?", call: (_said, { problem }) => problem?.answer },
    });
    const params = own.init(1, spec([1, 1], "i32"), { engine: "wasm" });
    await generator.setParams(params);
    const { arrays, metrics } = await generator.rollout(request(3));
    expect(metrics?.["tool.calls"]).toBeGreaterThan(0);
    const { tokens, mask, logProbs } = arrays as Required<NamedArrays>;
    const call = known.encode("?")[0];
    const whole = compile((p: nn.Params, t: Value): Value => tokenOutputs(own, p, t).logProbs, {
      engine: "wasm",
    });
    const found = await whole(
      params,
      put(tokens?.data as Int32Array, { shape: [6, 4, 9], engine: "wasm" }),
    ).read();
    let answered = 0;
    tokens?.data.forEach((token, i) => {
      const is = mask?.data[i] as number;
      expect(Math.abs((logProbs?.data[i] as number) - is * (found[i] as number))).toBeLessThan(1e-4);
      // The answer follows the call, and is not the model's. Nothing follows where there was no room for it.
      if (token !== call || is === 0 || i % 9 === 8 || tokens.data[i + 1] === 0) return;
      expect(mask?.data[i + 1]).toBe(0);
      answered++;
      const row = i - (i % 9);
      expect(tokens.data[i + 1]).toBe(tokens.data[row]);
    });
    expect(answered).toBeGreaterThan(0);
  });

  it("counts calls of a tool that failed, in rollouts and in evaluations", async () => {
    const fail = () => Promise.reject(new Error("out of order"));
    const generator = rolloutsOf("wasm", { tool: { stop: "a", call: fail, onFailure: "end" }, passAt: [4] });
    await generator.setParams(model.init(0, spec([1, 1], "i32"), { engine: "wasm" }));
    const { metrics } = await generator.rollout(request(1));
    expect(metrics?.["tool.failures"]).toBeGreaterThan(0);
    expect(metrics?.["tool.failures"]).toBe(metrics?.["tool.calls"]);
    const evaluated = await generator.evaluate({ ...request(1), examples: 12 });
    expect(evaluated.metrics?.["tool.failures"]).toBeGreaterThan(0);
  });

  it("says once that nothing can be learned where all rewards are equal", async () => {
    const warnings: string[] = [];
    const task = made("wasm", {
      generator: rolloutsOf("wasm", { reward: () => 1, prompts: 2 }),
      worker: { defaultHooks: false },
    });
    const trainer = new Trainer({
      task,
      config: config({ epochs: 2 }),
      warn: (text) => void warnings.push(text),
    });
    const { counters } = await trainer.train();
    expect(counters).toMatchObject({ epochs: 2, updates: 0 });
    expect(warnings.filter((text) => text.includes("nothing can be learned"))).toHaveLength(1);
    expect(task.counts.useless).toBe(16);
  });

  it("ends with an error where a hook stops the worker", async () => {
    const stop = {
      name: "stop",
      onStep: ({ worker }: { readonly worker: RolloutWorker }) => worker.stop("enough"),
    };
    const task = made("wasm", { worker: { defaultHooks: false, hooks: [stop] }, keepUniform: true });
    const trainer = new Trainer({ task, config: config(), warn: () => {} });
    await expect(trainer.train()).rejects.toMatchObject({ code: "WORKER_ENDED" });
  });

  it("counts rewards that failed where every sample was dropped, and has no reward then", async () => {
    const reward = () => Number.NaN;
    const task = made("wasm", {
      generator: rolloutsOf("wasm", { reward, onRewardFailure: "drop" }),
      worker: { defaultHooks: false },
      keepUniform: true,
      updates: 1,
      examples: undefined,
    });
    const { metrics } = await new Trainer({ task, config: config({ epochs: 1 }), warn: () => {} }).train();
    expect(metrics).toMatchObject({ episodes: 0, "reward.failures": 24 });
    expect(Object.keys(metrics)).not.toContain("reward");
    expect(() => made("wasm", { transport: inProcessTransport(), generator: undefined })).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", message: expect.stringContaining("examples") }),
    );
  });

  it("drops samples whose reward failed, and counts them", async () => {
    const generator = rolloutsOf("wasm", {
      reward: ({ prompt }) => {
        if (prompt.startsWith("a")) throw new Error("no a");
        return 1;
      },
      lessons: [{ ...echo }],
      onRewardFailure: "drop",
    });
    await generator.setParams(model.init(0, spec([1, 1], "i32"), { engine: "wasm" }));
    const { arrays, metrics, episodes, return: mean } = await generator.rollout(request(1));
    expect(metrics?.["reward.failures"]).toBeGreaterThan(0);
    const { mask, reward } = arrays as Required<NamedArrays>;
    const rows = Array.from({ length: 24 }, (_, i) =>
      mask?.data.subarray(i * 6, i * 6 + 6).some((m) => m > 0),
    );
    expect(rows.filter((is) => !is).length).toBe(metrics?.["reward.failures"]);
    expect(Array.from(reward?.data ?? []).every(Number.isFinite)).toBe(true);
    // All that were judged have 1: those that were not are no zeros among them.
    expect(episodes).toBe(24 - (metrics?.["reward.failures"] ?? 0));
    expect(mean).toBe(1);
    const scores = await generator.evaluate({ ...request(1), examples: 24 });
    expect(scores.return).toBe(1);
    expect(scores.episodes).toBe(24 - (scores.metrics?.["reward.failures"] ?? 0));
    // The samples of pass@k too: 8 for each of 24 problems.
    const failing = rolloutsOf("wasm", { reward: () => Number.NaN, onRewardFailure: "zero", passAt: [8] });
    await failing.setParams(model.init(0, spec([1, 1], "i32"), { engine: "wasm" }));
    const tried = await failing.evaluate({ ...request(1), examples: 24 });
    expect(tried.metrics).toEqual({ "pass@8": 0, "reward.failures": 24 + 8 * 24 });
    expect(scores.episodes).toBeLessThan(24);
  });

  it("warns of what rewards and tools failed of, the 1st, 10th, 100th time", async () => {
    const warnings: string[] = [];
    const warn = (text: string) => void warnings.push(text);
    const fail = (what: string) => () => Promise.reject(new Error(what));
    const task = made("wasm", {
      generator: rolloutsOf("wasm", {
        reward: fail("database gone"),
        onRewardFailure: "drop",
        tool: { stop: "a", call: fail("out of order"), onFailure: "end" },
      }),
      worker: { defaultHooks: false, warn },
      keepUniform: true,
    });
    await new Trainer({ task, config: config({ epochs: 11, validate: never() }), warn: () => {} }).train();
    for (const cause of ["database gone", "out of order"]) {
      const told = warnings.filter((text) => text.includes(cause));
      expect(told.map((text) => /the (\w+) so far/.exec(text)?.[1])).toEqual(["1st", "10th"]);
    }
    // A validation has no worker: it is the trainer that warns.
    const seen: string[] = [];
    const judged = made("wasm", {
      generator: rolloutsOf("wasm", { reward: fail("database gone"), onRewardFailure: "zero" }),
    });
    const trainer = new Trainer({ task: judged, config: config(), warn: (text) => void seen.push(text) });
    await trainer.validate();
    expect(seen.filter((text) => text.includes("database gone"))).toHaveLength(1);
  });

  describe("a lesson that fails", () => {
    const stuck: TextLesson = { name: "stuck", problem: () => new Promise(() => {}) };
    const throwing: TextLesson = { name: "throwing", problem: () => Promise.reject(new Error("no file")) };
    const skipping = (lessons: readonly TextLesson[], warnings: string[] = []) =>
      made("wasm", {
        generator: rolloutsOf("wasm", { lessons, lessonTimeout: 5, onLessonFailure: "skip" }),
        worker: { microEvalFrequency: 1, evalExamples: 4, warn: (text) => void warnings.push(text) },
        keepUniform: true,
        updates: 1,
      });
    const train = (task: ReturnType<typeof skipping>, epochs: number) =>
      new Trainer({ task, config: config({ epochs, validate: never() }), warn: () => {} }).train();

    it("ends the run in the time it is given, unless it is skipped", async () => {
      const generator = rolloutsOf("wasm", { lessons: [stuck], lessonTimeout: 5 });
      await expect(train(made("wasm", { generator }), 1)).rejects.toThrow(/"stuck" .* 5 ms/);
      // Without another one it is an error all the same.
      await expect(train(skipping([throwing]), 1)).rejects.toMatchObject({ code: "LESSON_FAILED" });
    });

    it("is counted and warned of, and another is drawn", async () => {
      const warnings: string[] = [];
      const task = skipping([stuck, echo, throwing], warnings);
      const seen: (readonly [string, unknown])[] = [];
      task.worker?.registerHook({
        name: "see",
        onStep: ({ rollout, lessonId, metadata }) => {
          expect(lessonId).toBe(rollout?.lesson);
          seen.push([rollout?.lesson ?? "", metadata["lesson.failures"]]);
        },
      });
      await train(task, 8);
      expect(new Set(seen.map(([lesson]) => lesson))).toEqual(new Set(["echo"]));
      expect(seen.some(([, failures]) => Number(failures) > 0)).toBe(true);
      expect(warnings.filter((text) => /stuck|no file/.test(text))).toHaveLength(1);
      // Of a lesson without problems an evaluation has no score.
      const { signal } = new AbortController();
      const scores = await task.validate?.({ counters: {} as never, signal });
      expect(scores).toMatchObject({ "stuck.lesson.failures": 1, "echo.positive": expect.any(Number) });
      expect(Object.keys(scores ?? {})).not.toContain("stuck.return");
    });

    it("changes nothing about how a run is resumed", async () => {
      const lessons = [throwing, echo, { ...echo, name: "again" }];
      const whole = skipping(lessons);
      await train(whole, 6);
      const directory = temporaryDirectory();
      const part = (epochs: number) => {
        const task = skipping(lessons);
        const hooks = [checkpointHook({ directory })];
        const trainer = new Trainer({
          ...{ task, hooks, warn: () => {} },
          config: config({ epochs, validate: never() }),
        });
        return trainer.train().then(() => task);
      };
      await part(3);
      const resumed = await part(6);
      expect(await firstDifference(resumed.params, whole.params)).toBeUndefined();
      expect(resumed.worker?.counters).toMatchObject({ steps: 6 });
    });
  });

  it("leaves samples whose reward failed out of pass@k", async () => {
    const evaluate = async (fails: (call: number) => boolean, passAt: readonly number[]) => {
      let calls = 0;
      const reward = () => {
        if (fails(calls++)) throw new Error("database gone");
        return 1;
      };
      const generator = rolloutsOf("wasm", { reward, onRewardFailure: "drop", passAt });
      await generator.setParams(model.init(0, spec([1, 1], "i32"), { engine: "wasm" }));
      return (await generator.evaluate({ ...request(1), examples: 4 })).metrics;
    };
    // Every second sample fails: two of four are left for each problem.
    expect(await evaluate((call) => call % 2 === 1, [1, 2, 4])).toEqual({
      "pass@1": 1,
      "pass@2": 1,
      "reward.failures": 2 + 8,
    });
    // The only sample of the first problem fails.
    expect(await evaluate((call) => call === 4, [1])).toEqual({ "pass@1": 1, "reward.failures": 1 });
  });

  it("validates by its generator where a transport brings the rollouts", async () => {
    const transport = inProcessTransport();
    const link = transport.worker("elsewhere");
    const worker = new RolloutWorker({
      name: "elsewhere",
      link,
      generator: rolloutsOf("wasm"),
      defaultHooks: false,
    });
    const task = made("wasm", { transport, examples: 4 });
    expect(task.worker).toBeUndefined();
    const working = worker.run();
    const { counters, validation } = await new Trainer({
      task,
      config: config({ epochs: 2 }),
      warn: () => {},
    }).train();
    expect(counters.updates).toBeGreaterThan(0);
    expect(Object.keys(validation ?? {})).toContain("echo.return");
    await task.close();
    expect((await working).steps).toBeGreaterThan(1);
  });

  it("is refused in groups of one, unless answers are imitated", async () => {
    const answers = rolloutsOf("wasm", { answers: true });
    const train = (more: Partial<Parameters<typeof languageTask>[0]>) => {
      const task = made("wasm", { generator: answers, losses: [imitationLoss()], ...more });
      return new Trainer({ task, config: config({ epochs: 1 }), warn: () => {} }).train();
    };
    await expect(train({})).rejects.toMatchObject({ code: "SHAPE_MISMATCH" });
    expect((await train({ keepUniform: true })).counters.updates).toBe(2);
  });

  it("says that rewards failed where nothing can be learned for that", async () => {
    const warnings: string[] = [];
    const task = made("wasm", {
      generator: rolloutsOf("wasm", { reward: () => Number.NaN, prompts: 2, onRewardFailure: "zero" }),
      worker: { defaultHooks: false },
    });
    const warn = (text: string) => void warnings.push(text);
    await new Trainer({ task, config: config({ epochs: 1 }), warn }).train();
    expect(warnings.filter((text) => text.includes("32 rewards failed"))).toHaveLength(1);
  });

  it.each([
    ["no generator", () => made("wasm", { generator: undefined as never }), "OPTION_INVALID"],
    ["a short context", () => rolloutsOf("wasm", { length: 6 }), "CONTEXT_EXCEEDED"],
    ["no lesson", () => rolloutsOf("wasm", { lessons: [] }), "OPTION_INVALID"],
    ["two lessons of one name", () => rolloutsOf("wasm", { lessons: [echo, { ...echo }] }), "OPTION_INVALID"],
    [
      "a lesson without a name",
      () => rolloutsOf("wasm", { lessons: [{ ...echo, name: "" }] }),
      "OPTION_INVALID",
    ],
    ["pass@0", () => rolloutsOf("wasm", { passAt: [0] }), "OPTION_INVALID"],
    ["a reference of another model", () => made("wasm", { reference: otherParams() }), "WEIGHTS_INVALID"],
    ["a slip", () => made("wasm", { batchsize: 3 } as never), "OPTION_UNKNOWN"],
  ])("refuses %s", (_name, make, code) => {
    expect(make).toThrow(expect.objectContaining({ code }));
  });

  it("refuses weights of another model, an unknown lesson, long prompts, and answers before weights", async () => {
    const generator = rolloutsOf("wasm");
    await expect(generator.rollout(request(0))).rejects.toMatchObject({ code: "WEIGHTS_MISSING" });
    expect(() => generator.setParams(otherParams())).toThrow(
      expect.objectContaining({ code: "WEIGHTS_INVALID" }),
    );
    await expect(generator.rollout({ ...request(0), lesson: "ecco" })).rejects.toMatchObject({
      code: "LESSON_UNKNOWN",
    });
    await expect(rolloutsOf("wasm", { promptLength: 2 }).rollout(request(0))).rejects.toMatchObject({
      code: "CONTEXT_EXCEEDED",
    });
    const strange = rolloutsOf("wasm", { lessons: [textLessons.add()] });
    await expect(strange.rollout({ ...request(0), lesson: "add-2" })).rejects.toMatchObject({
      code: "VOCABULARY_MISMATCH",
    });
  });
});
