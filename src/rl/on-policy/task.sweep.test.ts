import { describe, expect, it } from "vitest";
import { compile, np, type Value } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import type { Params } from "../../nn/index.ts";
import { adam } from "../../optim/index.ts";
import { every } from "../../schedule/index.ts";
import { describeInSample, inSample } from "../../sweep.test-support.ts";
import type { TrainerContext, TrainerHook } from "../../trainer/index.ts";
import { valueLoss } from "../losses/actor-critic.ts";
import { smallTask, trained } from "./on-policy.test-support.ts";
import { onPolicyTask } from "./task.ts";
import { counting, turning, worlds } from "./worlds.test-support.ts";

const both = ["compiled", "ordinary"] as const;

/** Every row of every call: what it is called, its phase, its counters and its number. */
function rowsOf() {
  const rows: { name: string; phase: string; episodes: number; samples: number; value: number }[] = [];
  const hook: TrainerHook = {
    name: "rows",
    onBatchesEnd: async ({ values }: TrainerContext) => {
      const numbers = (await values?.read()) ?? {};
      for (const name of values?.names ?? [])
        for (let row = 0; row < (values?.rows(name) ?? 0); row++) {
          const at = values?.at(name, row);
          rows.push({
            ...{ name, phase: values?.phase(name) ?? "", value: numbers[name]?.[row] as number },
            ...{ episodes: at?.episodes as number, samples: at?.samples as number },
          });
        }
    },
  };
  return { hook, rows };
}

const task = (where: (typeof both)[number], engine: "wasm" | "xla", more = {}) =>
  smallTask(where, engine, { env: worlds(where, counting), rolloutSteps: 6, ...more });

describe.each(inSample ? both : [])("a task of %s environments", (where) => {
  it("reports episodes as a count by hand has them", async () => {
    const { hook, rows } = rowsOf();
    const { counters } = await trained(task(where, "wasm"), {}, [hook]);
    // An episode takes three steps and the step that resets: of 24 steps, those at 3, 7, 11, 15, 19 and 23 end one.
    const of = (name: string) => rows.filter((row) => row.name === name);
    expect(of("episodes").map(({ value }) => value)).toEqual([2, 4, 2, 4]);
    expect(of("episode.return").map(({ value }) => value)).toEqual([6, 6, 6, 6]);
    expect(of("episode.length").map(({ value }) => value)).toEqual([3, 3, 3, 3]);
    expect(counters).toMatchObject({ episodes: 12, samples: 48, steps: 48, updates: 16, epochs: 4 });
    expect(of("episodes").map(({ episodes }) => episodes)).toEqual([2, 6, 8, 12]);
    expect(of("loss").map(({ episodes }) => episodes)).toEqual(
      [2, 6, 8, 12].flatMap((count) => Array(4).fill(count)),
    );
  });

  it("has no means where no episode has ended", async () => {
    const { hook, rows } = rowsOf();
    await trained(task(where, "wasm", { rolloutSteps: 2 }), {}, [hook]);
    const of = (name: string) => rows.filter((row) => row.name === name).map(({ value }) => value);
    // Steps 3 and 7 end an episode; of two steps each, that is the second rollout and the fourth.
    expect(of("episodes")).toEqual([0, 2, 0, 2]);
    expect(of("episode.return")).toEqual([Number.NaN, 6, Number.NaN, 6]);
  });

  it("reports the same however it is cut: each phase its own names, row by row", async () => {
    const [fused, single] = [rowsOf(), rowsOf()];
    await trained(task(where, "wasm"), {}, [fused.hook]);
    await trained(task(where, "wasm"), { fuse: false }, [single.hook]);
    const byName = (rows: typeof fused.rows) =>
      [...new Set(rows.map(({ name }) => name))]
        .sort()
        .map((name) => rows.filter((row) => row.name === name));
    expect(byName(single.rows)).toEqual(byName(fused.rows));
    const phases = Object.fromEntries(single.rows.map(({ name, phase }) => [name, phase]));
    expect(phases).toMatchObject({ episodes: "rollout", "episode.return": "rollout", loss: "train" });
    expect(single.rows.filter(({ name }) => name === "policy.loss")).toHaveLength(16);
  });

  it("runs what is scheduled by episodes at the same counters, fused or not", async () => {
    const seen = async (fuse: boolean) => {
      const found: number[][] = [];
      const note = ({ counters }: TrainerContext) =>
        void found.push([counters.episodes as number, counters.samples, counters.updates]);
      const hook: TrainerHook = { name: "note", schedule: every({ episodes: 5 }), onBatchEnd: note };
      await trained(task(where, "wasm"), { fuse }, [hook]);
      return found;
    };
    expect(await seen(true)).toEqual([
      [6, 24, 5],
      [12, 48, 13],
    ]);
    expect(await seen(false)).toEqual(await seen(true));
  });

  it("says how many steps an epoch has, and lends its parameters as they are", async () => {
    const made = task(where, "wasm");
    const before = made.params;
    await trained(made, { epochs: 1 });
    expect(made.params).not.toBe(before);
    expect(made.samplesPerEpoch).toBe(12);
    made.close();
  });
});

describeInSample("what compiled environments and ordinary ones are told apart by", () => {
  it("is how many calls there are: many epochs in one, or the updates of one", async () => {
    const calls = async (where: (typeof both)[number]) => {
      const { result } = await trained(task(where, "wasm", { maxEpochs: 8 }));
      const { rollout, train, fused } = result.timings.phases;
      return [rollout?.calls ?? 0, train?.calls ?? 0, fused?.calls ?? 0];
    };
    expect(await calls("compiled")).toEqual([0, 0, 1]);
    expect(await calls("ordinary")).toEqual([0, 0, 4]);
  });
});

describe.each(sweepEngines())("values of a world of two states, on %s", (engine) => {
  const gamma = 0.5;
  // V(0) = 1 + g V(1) and V(1) = 0 + g V(0) where what follows counts, and nothing where it does not.
  const exact = { terminated: [1, 0], truncated: [1 / (1 - gamma ** 2), gamma / (1 - gamma ** 2)] } as const;
  const cases = both.flatMap((where) =>
    (["terminated", "truncated"] as const).map((ended) => [where, ended] as const),
  );
  const some = engine === "wasm" ? cases : cases.slice(1, 2);
  it.each(some)("%s: whose episodes are %s", async (where, ended) => {
    const made = onPolicyTask({
      ...{ env: worlds(where, turning(ended)), losses: [valueLoss({ weight: 1 })] },
      ...{
        optimizer: adam(),
        learningRate: 0.02,
        rolloutSteps: 12,
        updateEpochs: 4,
        gamma,
        lambda: 0.9,
        engine,
      },
      policy: { encoder: { kind: "mlp", hidden: [8] } },
    });
    await trained(made, { epochs: 60 });
    const values = compile(
      (params: Params) =>
        made.policy.step(params, {
          ...{ observation: np.eye(2), state: {}, reset: np.zeros([2], { dtype: "bool" }) },
        }).value as Value,
      { engine },
    );
    const found = await values(made.params).read();
    exact[ended].forEach((value, state) => {
      expect(Math.abs((found[state] as number) - value)).toBeLessThan(0.02);
    });
  });
});
