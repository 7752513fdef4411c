import { describe, expect, it } from "vitest";
import { checkpointHook, memoryStore } from "../../checkpoint/index.ts";
import { byMetric } from "../../schedule/index.ts";
import { learningProgressCurriculum } from "../curriculum/learning-progress.ts";
import { lessonCurriculum } from "../curriculum/lesson-curriculum.ts";
import { defineEnvironment } from "../environments/define.ts";
import { makeEnvironment } from "../environments/registry.ts";
import { autoUpdateEpochs, type UpdateEpochs } from "../experience/update-epochs.ts";
import { hashes } from "../on-policy/on-policy.test-support.ts";
import { box, discrete } from "../spaces/index.ts";
import { type PpoOptions, ppo } from "./ppo.ts";

const small = {
  ...({ environments: 4, rolloutSteps: 32, minibatches: 2, updateEpochs: 1, totalSteps: 512 } as const),
  ...({ engine: "wasm", policy: { encoder: { kind: "mlp", hidden: [8] } } } as const),
};

/** Never ends. */
const endless = defineEnvironment({
  ...{ name: "Endless", observation: box({ shape: 1 }), action: discrete(2) },
  initial: () => ({ t: 0 }),
  step: ({ t }) => ({ state: { t: t + 1 }, reward: 1, terminated: false }),
  observe: () => [0],
});

describe("runs of one agent", () => {
  const lessons = makeEnvironment("GridWorld-v0").lessons as readonly string[];
  it.each<[string, Pick<PpoOptions, "curriculum" | "updateEpochs">]>([
    ["a curriculum of progress", { curriculum: learningProgressCurriculum({ lessons }) }],
    [
      "a curriculum of lessons",
      { curriculum: lessonCurriculum({ lessons: lessons.map((name) => ({ name })) }) },
    ],
    ["what chooses update epochs", { updateEpochs: autoUpdateEpochs({ warmup: 0, cooldown: 0 }) }],
  ])("are the same, with %s", async (_name, more) => {
    const agent = ppo({ env: "GridWorld-v0", compiled: true, ...small, ...more });
    const part = more.curriculum ?? (more.updateEpochs as UpdateEpochs);
    const start = await part.getState();
    await agent.train();
    const first = await hashes(agent.task);
    expect(await part.getState()).not.toEqual(start);
    agent.setup();
    expect(await part.getState()).toEqual(start);
    await agent.train();
    expect(await hashes(agent.task)).toEqual(first);
  });

  it("are the same, with a ramp that follows a metric", async () => {
    const ramp = byMetric({ metric: "value.loss", initial: 1e-3, transform: (x) => x / 1000 });
    const agent = ppo({ env: "CartPole-v1", ...small, learningRate: ramp });
    await agent.train();
    const first = await hashes(agent.task);
    await agent.train();
    expect(await hashes(agent.task)).toEqual(first);
  });

  it("go on from a checkpoint with the curriculum that it has", async () => {
    const store = memoryStore();
    const made = () =>
      ppo({
        ...{ env: "GridWorld-v0", compiled: true, annealRate: false, ...small },
        curriculum: learningProgressCurriculum({ lessons }),
      });
    const [agent, whole] = [made(), made()];
    await agent.train({ steps: 256, hooks: [checkpointHook({ store })] });
    await agent.train({ steps: 512, hooks: [checkpointHook({ store })] });
    await whole.train({ steps: 512 });
    expect(await hashes(agent.task)).toEqual(await hashes(whole.task));
  });

  it("come one after the other", async () => {
    const agent = ppo({ env: "CartPole-v1", ...small });
    const busy = expect.objectContaining({
      code: "AGENT_BUSY",
      message: expect.stringMatching(/training already/),
    });
    const first = agent.train();
    await expect(agent.train()).rejects.toThrow(busy);
    expect(() => agent.setup()).toThrow(busy);
    expect((await first).outcome).toBe("completed");
    expect((await agent.train()).outcome).toBe("completed");
    agent.setup();
  });

  it("can follow one that failed, or never began", async () => {
    const agent = ppo({ env: "CartPole-v1", ...small });
    const failing = { name: "failing", onEpochEnd: () => Promise.reject(new Error("no luck")) };
    await expect(agent.train({ hooks: [failing] })).rejects.toThrow(/no luck/);
    await expect(agent.train({ hooks: [{}] as never })).rejects.toThrow();
    expect((await agent.train()).outcome).toBe("completed");
  });
});

describe("a training", () => {
  it.each([
    [
      "hooks that are none",
      { hooks: () => undefined },
      /ppo.train: hooks are undefined.*OPTION_INVALID.*a list of hooks/s,
    ],
    ["a word for hooks", { hooks: "all" }, /hooks are "all"/],
    [
      "epochs, which follow from the steps",
      { config: { epochs: 3 } },
      /config has epochs: 3.*OPTION_INVALID.*give steps/s,
    ],
  ])("refuses %s", async (_name, given, message) => {
    const agent = ppo({ env: "CartPole-v1", ...small });
    await expect(agent.train(given as never)).rejects.toThrow(message);
    expect(() => agent.setup(given as never)).toThrow(message);
  });
});

describe("an evaluation of an environment that never ends", () => {
  const trained = async () => {
    const agent = ppo({ env: endless, ...small });
    await agent.train({ steps: 128 });
    return agent;
  };

  it("is an error after maxLength steps", async () => {
    const agent = await trained();
    await expect(agent.evaluate({ episodes: 1, maxLength: 50 })).rejects.toThrow(
      /step 50 .* does not end.*ENVIRONMENT_HANGS/s,
    );
    await expect(agent.evaluate({ maxLength: 0 })).rejects.toThrow(/maxLength is 0/);
  });

  it("ends when its signal does", async () => {
    const agent = await trained();
    const stop = new AbortController();
    const playing = agent.evaluate({ episodes: 1, signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(playing).rejects.toThrow("enough");
  });
});
