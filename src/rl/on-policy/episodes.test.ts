import { describe, expect, it } from "vitest";
import { Logger, type MetricRecord, metricsHook } from "../../metrics/index.ts";
import { every } from "../../schedule/index.ts";
import {
  type RolloutStats,
  rolloutStats,
  type TrainerHook,
  type TrainingConfig,
} from "../../trainer/index.ts";
import { a2c } from "../presets/a2c.ts";
import type { Agent } from "../presets/agent.ts";
import { dqn } from "../presets/dqn.ts";
import { ppo } from "../presets/ppo.ts";
import { makeReporting } from "../vector/environments.test-support.ts";

const small = { environments: 4, policy: { encoder: { kind: "mlp", hidden: [8] } }, engine: "wasm" } as const;
const steps = { rolloutSteps: 32, minibatches: 2, updateEpochs: 1 } as const;
const quiet = { progress: false, warn: () => undefined } as const;

const logged = () => {
  const records: MetricRecord[] = [];
  const sink = {
    name: "kept",
    schedule: every({ epochs: 1 }),
    write: (all: readonly MetricRecord[]) => void records.push(...all),
  };
  return {
    records,
    hook: metricsHook({ logger: new Logger({ sinks: [sink] }), system: false, timing: false }),
  };
};

describe("the slot rolloutStats", () => {
  it.each<[string, () => Agent]>([
    ["ppo, compiled", () => ppo({ env: "CartPole-v1", compiled: true, ...small, ...steps })],
    ["ppo, ordinary", () => ppo({ env: "CartPole-v1", compiled: false, ...small, ...steps })],
    ["a2c", () => a2c({ env: "CartPole-v1", compiled: false, ...small, rolloutSteps: 32 })],
    ["dqn", () => dqn({ env: "CartPole-v1", ...small, rolloutSteps: 32, cycles: 1, learningStarts: 200 })],
  ])("holds the last rollout's figures, however the work is cut: %s", async (_name, make) => {
    const run = async (config: Partial<TrainingConfig>, hooks: readonly TrainerHook[]) => {
      const seen: [epochs: number, stats: RolloutStats | undefined][] = [];
      const reads: TrainerHook = {
        ...{ name: "reads", needs: [rolloutStats], schedule: every({ epochs: 3 }) },
        onEpochEnd: ({ slots, counters }) => void seen.push([counters.epochs, slots.get(rolloutStats)]),
      };
      await make().train({ steps: 128 * 6, config, hooks: [logged().hook, reads, ...hooks], ...quiet });
      return seen;
    };
    const whole = await run({}, []);
    const rollouts: Readonly<Record<string, number>>[] = [];
    const looks: TrainerHook = {
      name: "looks",
      onRolloutEnd: async ({ state }) => void rollouts.push(await state.metrics()),
      onBatchEnd: () => undefined,
    };
    expect(await run({ fuse: false }, [looks])).toEqual(whole);
    expect(whole.map(([epochs]) => epochs)).toEqual([3, 6]);
    for (const [epochs, stats] of whole) {
      expect(stats).toMatchObject({ samples: 128, "episode.return": expect.any(Number) });
      const { samples: _, ...figures } = stats ?? {};
      expect(rollouts[epochs - 1]).toMatchObject(figures);
    }
  });
});

describe("what steps have in their info", () => {
  const module = new URL("../vector/environments.test-support.ts", import.meta.url).href;
  const run = async (agent: Agent) => {
    const { records, hook } = logged();
    const infos: Readonly<Record<string, number>>[] = [];
    const looks: TrainerHook = {
      name: "looks",
      onRolloutEnd: async ({ state }) => {
        const found = Object.entries(await state.metrics());
        infos.push(Object.fromEntries(found.filter(([name]) => name.startsWith("info."))));
      },
    };
    try {
      await agent.train({ steps: 128 * 2, hooks: [hook, looks], ...quiet });
    } finally {
      agent.close();
    }
    return { infos, names: new Set(records.map(({ key }) => key)) };
  };

  it("is reported by every rollout as its mean, the same bits with one thread or four", async () => {
    const env = { module, name: "makeReporting" };
    const more = { ...small, ...steps, seed: 2, lesson: 1 } as const;
    const here = await run(ppo({ env: makeReporting, ...more }));
    expect(here.infos).toHaveLength(2);
    for (const info of here.infos) {
      expect(Object.keys(info).sort()).toEqual(["info.far", "info.final", "info.word"]);
      expect(Number.isFinite(info["info.final"])).toBe(true);
      expect(info["info.far"]).toBeGreaterThanOrEqual(0);
      expect(info["info.far"]).toBeLessThanOrEqual(1);
    }
    for (const threads of [1, 4])
      expect((await run(ppo({ env, threads, ...more }))).infos).toEqual(here.infos);
    expect([...here.names].filter((name) => name.includes("info.")).sort()).toEqual([
      ...["rollout/info.far", "rollout/info.final", "rollout/info.word"],
    ]);
  });

  it("is reported by DQN", async () => {
    const { infos } = await run(
      dqn({ env: makeReporting, ...small, rolloutSteps: 32, cycles: 1, learningStarts: 100, lesson: 1 }),
    );
    expect(Object.keys(infos[0] ?? {}).sort()).toEqual(["info.far", "info.final", "info.word"]);
  });
});
