import { describe, expect, it } from "vitest";
import { memoryStore } from "../../checkpoint/index.ts";
import { np, type Value } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { cuts, failureOf, failuresOf } from "../../trainer/finite.test-support.ts";
import type { Task, TrainingConfig } from "../../trainer/index.ts";
import type { CompiledEnvironment } from "../environments/compiled.ts";
import { defineEnvironment } from "../environments/define.ts";
import { registerEnvironment } from "../environments/registry.ts";
import { box, discrete } from "../spaces/index.ts";
import { a2c } from "./a2c.ts";
import { dqn } from "./dqn.ts";
import { ppo } from "./ppo.ts";

/** One endless episode, whose rewards are beyond all bounds from the 20th step on. */
const spaces = { observation: box({ shape: 1 }), action: discrete(2) };
const make = defineEnvironment({
  ...{ name: "Lottery", ...spaces },
  initial: () => ({ t: 0 }),
  step: ({ t }) => ({ state: { t: t + 1 }, reward: t >= 20 ? 1e38 : 1, terminated: false }),
  observe: ({ t }) => [t % 2],
});
const compiled: CompiledEnvironment<{ readonly t: Value }> = {
  ...{ name: "Lottery", observationSpace: spaces.observation, actionSpace: spaces.action },
  reset: () => ({ t: np.zeros([], { dtype: "i32" }) }),
  step: ({ t }) => {
    const no = np.full([], false, { dtype: "bool" });
    const reward = np.where(t.greaterEqual(20), 1e38, 1);
    return { state: { t: t.add(1) }, reward, terminated: no, truncated: no };
  },
  observe: ({ t }) => np.reshape(np.remainder(t, 2).astype("f32"), [1]),
};
registerEnvironment("Lottery", { make, compiled: () => compiled as unknown as CompiledEnvironment });

describe.each(sweepEngines())("a reward of 1e38 on %s", (engine) => {
  const policy = { encoder: { kind: "mlp", hidden: [4] } } as const;
  const shared = { env: "Lottery", policy, engine, seed: 1 } as const;
  const onPolicy = { ...shared, environments: 2, rolloutSteps: 8, maxEpochs: 4 };
  type Given = { readonly onNonFinite?: TrainingConfig["onNonFinite"] };
  const agents = {
    ppo: (more: Given = {}) =>
      ppo({ ...onPolicy, updateEpochs: 2, minibatches: 2, compiled: false, ...more }),
    "ppo, compiled, that may stop early": (more: Given = {}) =>
      ppo({ ...onPolicy, updateEpochs: 2, minibatches: 2, targetKl: 0.5, compiled: true, ...more }),
    a2c: (more: Given = {}) => a2c({ ...onPolicy, compiled: false, ...more }),
    dqn: (more: Given = {}) =>
      dqn({
        ...{ ...shared, rolloutSteps: 4, updates: 3, cycles: 2, batchSize: 64, capacity: 100, ...more },
        ...{ learningStarts: 8, environments: 2 },
      }),
  };
  type Name = keyof typeof agents;
  const made = (name: Name, more: Given = {}): { readonly task: Task; readonly config: object } => {
    const { task, config = {} } = agents[name](more).setup({ steps: 96 });
    return { task, config };
  };

  it.each<[Name, RegExp, object]>([
    // The third rollout of 8 steps has the 20th, and its rewards are discounted back to the first.
    ["ppo", /(policy|value)\.loss was \S+ in update 9 /, { epoch: 2, updates: 9, samples: 48 }],
    ["ppo, compiled, that may stop early", / in update 9 /, { epoch: 2, updates: 9, samples: 48 }],
    ["a2c", /(policy|value)\.loss was \S+ in update 3 /, { epoch: 2, updates: 3, samples: 48 }],
  ])("fails %s at the first update from it, however the work is cut", async (name, message, counters) => {
    const { task, config } = made(name);
    const run = failuresOf(task, config);
    for (const [cut, how] of Object.entries(cuts())) {
      const failure = await run(how);
      expect(failure, cut).toMatchObject({ outcome: "failed", code: "NON_FINITE", counters });
      expect(failure.message, cut).toMatch(message);
      expect(failure.seen, cut).toEqual({ onError: failure.counters, onTrainingEnd: failure.counters });
    }
  });

  it("fails dqn at the same update in every cut", async () => {
    const facts = new Set<string>();
    const { task, config } = made("dqn");
    const run = failuresOf(task, config);
    for (const how of Object.values(cuts())) {
      const { code, message, counters, seen } = await run(how);
      expect(code).toBe("NON_FINITE");
      facts.add(JSON.stringify({ message, counters, seen }));
    }
    expect([...facts]).toHaveLength(1);
  });

  it.each<Name>(["ppo, compiled, that may stop early", "dqn"])(
    "leaves %s's checkpoints from before it, from which a run fails as before",
    async (name) => {
      const store = memoryStore();
      const { task, config } = made(name);
      const run = () => failureOf(task, { store }, config);
      const first = await run();
      const saved = (await store.list()).map((path) => Number(/update-(\d+)/.exec(path)?.[1]));
      expect(Math.max(...saved)).toBeLessThan(Number(first.counters?.updates));
      expect(saved.length).toBeGreaterThan(0);
      expect(await run()).toEqual(first);
    },
  );

  it.each<Name>(["ppo", "a2c", "dqn"])("is as onNonFinite of %s says", async (name) => {
    const { task, config } = made(name, { onNonFinite: "warn" });
    expect(await failureOf(task, {}, config)).toMatchObject({
      ...{ outcome: "completed", warnings: [expect.stringContaining("NON_FINITE")] },
    });
    expect(agents[name]({ onNonFinite: "ignore" }).setup().config?.onNonFinite).toBe("ignore");
    expect(() => agents[name]({ onNonFinite: "halt" as never })).toThrow(/onNonFinite.*"halt".*OPTION/s);
  });
});
