import { describe, expect, it } from "vitest";
import { checkpointHook, memoryStore } from "../../checkpoint/index.ts";
import type { Tensor } from "../../engine/index.ts";
import { byMetric, linear } from "../../schedule/index.ts";
import { Trainer, type TrainerHook } from "../../trainer/index.ts";
import { learningProgressCurriculum } from "../curriculum/learning-progress.ts";
import { lessonCurriculum } from "../curriculum/lesson-curriculum.ts";
import { defineEnvironment } from "../environments/define.ts";
import { makeEnvironment } from "../environments/registry.ts";
import { playEpisodes } from "../evaluation/play.ts";
import { autoUpdateEpochs, type UpdateEpochs } from "../experience/update-epochs.ts";
import { hashes } from "../on-policy/on-policy.test-support.ts";
import type { OnPolicyTask } from "../on-policy/task.ts";
import { box, discrete } from "../spaces/index.ts";
import { a2c } from "./a2c.ts";
import type { Agent } from "./agent.ts";
import { dqn } from "./dqn.ts";
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
    const ramp = byMetric({ metric: "train/value.loss", initial: 1e-3, transform: (x) => x / 1000 });
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

describe("an environment with lessons", () => {
  /** As far to the right as its lesson is long, which is what it shows. */
  const stairs = defineEnvironment({
    ...{ name: "Stairs", observation: box({ shape: 1 }), action: discrete(2), lessons: ["low", "high"] },
    initial: (_, { lesson }) => ({ left: lesson === 0 ? 2 : 5 }),
    step: ({ left }) => ({ state: { left: left - 1 }, reward: 1, terminated: left === 1 }),
    observe: ({ left }) => [left],
  });
  /** The lengths of all episodes that ended. */
  const lengthsSeen = () => {
    const lengths = new Set<number>();
    const hook: TrainerHook = {
      name: "lengths",
      onRolloutEnd: async ({ state }) => {
        const length = (await state.metrics())["episode.length"];
        if (Number.isFinite(length)) lengths.add(length as number);
      },
    };
    return { hook, lengths };
  };
  const agents = [
    ["ppo", (lesson?: string) => ppo({ env: stairs, ...small, ...(lesson && { lesson }) })],
    [
      "a2c",
      (lesson?: string) =>
        a2c({ env: stairs, environments: 4, totalSteps: 160, engine: "wasm", ...(lesson && { lesson }) }),
    ],
    [
      "dqn",
      (lesson?: string) =>
        dqn({
          ...{ env: stairs, environments: 4, totalSteps: 200, cycles: 2, learningStarts: 10, engine: "wasm" },
          ...(lesson && { lesson }),
        }),
    ],
  ] as const;

  it.each(agents)("is trained by %s on its first one, which is said once", async (name, make) => {
    const said: string[] = [];
    const { hook, lengths } = lengthsSeen();
    await make().train({ hooks: [hook], warn: (text) => said.push(text) });
    expect(said).toEqual([expect.stringMatching(/Stairs has 2 lessons.*"low".*lesson/)]);
    expect(said[0]?.includes("curriculum")).toBe(name !== "dqn");
    expect([...lengths]).toEqual([2]);
  });

  it.each(agents)("is trained and evaluated by %s on the one that is chosen", async (_name, make) => {
    const said: string[] = [];
    const agent = make("high");
    const { hook, lengths } = lengthsSeen();
    await agent.train({ hooks: [hook], warn: (text) => said.push(text) });
    expect(said).toEqual([]);
    expect([...lengths]).toEqual([5]);
    expect((await agent.evaluate({ episodes: 2 })).length).toBe(5);
    expect((await agent.evaluate({ episodes: 2, lesson: "low" })).length).toBe(2);
  });

  it("is trained inside the program on the one that is chosen, however the work is cut", async () => {
    const run = async (hooks: readonly TrainerHook[]) => {
      const agent = ppo({ env: "GridWorld-v0", compiled: true, ...small, lesson: 3 });
      const lessons: number[] = [];
      const { task, config } = agent.setup({ steps: 512 });
      await new Trainer({ task, config: config ?? {}, hooks, warn: () => undefined }).train();
      const state = (await task.components.environments?.getState()) as { rows: { lesson: Tensor } };
      lessons.push(...((await state.rows.lesson.read()) as Int32Array));
      return { lessons, bits: await hashes(agent.task) };
    };
    const whole = await run([]);
    expect(whole.lessons).toEqual([3, 3, 3, 3]);
    expect(await run([{ name: "looks", onRolloutEnd: () => undefined }])).toEqual(whole);
  });
});

describe("an agent", () => {
  it("that has not been trained is scored as it begins, and training is the same after it", async () => {
    const [agent, other] = [1, 2].map(() => ppo({ env: "CartPole-v1", ...small, seed: 3 })) as [
      Agent<OnPolicyTask>,
      Agent<OnPolicyTask>,
    ];
    const before = await agent.evaluate({ episodes: 4 });
    other.setup();
    const { player, snapshot } = other.task;
    const first = await playEpisodes({
      ...{ player, state: (await snapshot(player.reads)).components, env: "CartPole-v1" },
      ...{ episodes: 4, seed: 0, engine: "wasm" },
    });
    expect(before.returns).toEqual(first.map((episode) => episode.return));
    expect(() => agent.task).toThrow(/NOT_TRAINED/);
    await Promise.all([agent.train(), other.train()]);
    expect(await hashes(agent.task)).toEqual(await hashes(other.task));
  });

  it("tells what chance scores, with masks kept, the same each time", async () => {
    /** Only choice 1 is ever allowed, and pays. */
    const narrow = defineEnvironment({
      ...{ name: "Narrow", observation: box({ shape: 1 }), action: discrete(3), timeLimit: 4 },
      initial: () => ({}),
      step: (state, action) => ({ state, reward: action === 1 ? 1 : -100, terminated: false }),
      observe: () => [0],
      actionMask: () => [0, 1, 0],
    });
    expect((await ppo({ env: narrow, ...small }).evaluate({ random: true, episodes: 3 })).returns).toEqual([
      4, 4, 4,
    ]);
    const agent = dqn({ env: "CartPole-v1", engine: "wasm" });
    const chance = await agent.evaluate({ random: true, episodes: 200 });
    // Gymnasium's CartPole: 22.2 over a million episodes of random actions, deviation 11.7.
    expect(Math.abs(chance.return - 22.2)).toBeLessThan(4 * (11.7 / Math.sqrt(200)));
    expect(await agent.evaluate({ random: true, episodes: 200 })).toEqual(chance);
    const torque = await a2c({ env: "Pendulum-v1", engine: "wasm" }).evaluate({ random: true, episodes: 2 });
    expect(torque.length).toBe(200);
  });

  it("is written as JSON in short", () => {
    const learningRate = linear({ from: 1e-3, to: 0, over: { epochs: 2 } });
    const shown = JSON.parse(JSON.stringify(ppo({ env: "CartPole-v1", learningRate, lambda: 0.5 })));
    expect(shown).toMatchObject({ algorithm: "ppo", environment: "CartPole-v1", settings: { lambda: 0.5 } });
    expect(shown.settings.learningRate).toBe(learningRate.describe());
    expect(JSON.parse(JSON.stringify(dqn({ env: makeEnvironment.bind(null, "CartPole-v1") })))).toMatchObject(
      {
        ...{ algorithm: "dqn", environment: "bound makeEnvironment" },
      },
    );
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
