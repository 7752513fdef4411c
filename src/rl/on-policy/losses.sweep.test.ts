import { describe, expect, it } from "vitest";
import { adam, chain, clipByGlobalNorm, rmsprop } from "../../optim/index.ts";
import { between, cycle } from "../../schedule/index.ts";
import { hashState, type StateTree } from "../../state/index.ts";
import { describeInSample, inSample } from "../../sweep.test-support.ts";
import { Trainer, type TrainerContext, type TrainerHook } from "../../trainer/index.ts";
import { entropyLoss, policyGradientLoss, policyLoss, valueLoss } from "../losses/actor-critic.ts";
import { cloningLoss, kickstartLoss } from "../losses/imitation.ts";
import { buildPolicy } from "../policies/build.ts";
import { discrete } from "../spaces/index.ts";
import { hashes, resumed, smallTask, trained, type Where } from "./on-policy.test-support.ts";
import type { OnPolicyOptions } from "./options.ts";
import { onPolicyTask } from "./task.ts";
import { matching, worlds } from "./worlds.test-support.ts";

const both = ["compiled", "ordinary"] as const;
const policy = buildPolicy(
  { encoder: { kind: "mlp", hidden: [8] } },
  { observationSpace: discrete(3), actionSpace: discrete(3) },
);
const ppo = () => [policyLoss(), valueLoss(), entropyLoss()];

const taskWith = (where: Where, more: Partial<OnPolicyOptions> = {}) =>
  smallTask(where, "wasm", { env: worlds(where, matching, 4), policy, ...more });

/** All rows of values by name, in order, and the epoch or the update that each belongs to. */
function watching() {
  const found: Record<string, number[]> = {};
  const at: Record<string, { readonly epoch: number; readonly updates: number }[]> = {};
  const applied: number[] = [];
  const hook: TrainerHook = {
    name: "watching",
    onBatchesEnd: async ({ values }: TrainerContext) => {
      const numbers = (await values?.read()) ?? {};
      for (const name of values?.names ?? []) {
        found[name] ??= [];
        at[name] ??= [];
        for (let row = 0; row < (values?.rows(name) ?? 0); row++) {
          found[name]?.push(numbers[name]?.[row] as number);
          const { epoch = 0, updates = 0 } = values?.at(name, row) ?? {};
          at[name]?.push({ epoch, updates });
        }
      }
      if (values?.applied) {
        const rows = values.rows("loss");
        applied.push(...(await values.applied.read()).subarray(0, rows));
      }
    },
  };
  return { hook, found, at, applied };
}

const mean = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0) / numbers.length;

describe.each(inSample ? [] : both)("what losses teach, with %s environments", (where) => {
  it("a demonstrator's falls while PPO learns, and so does that of a teacher who learned", async () => {
    // The demonstrator names what it sees.
    const observations = Float32Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1);
    const cloning = cloningLoss({
      ...{ policy, demonstrations: { observations, actions: Float32Array.of(0, 1, 2) } },
      ...{ batchSize: 8, weight: 0.5, engine: "wasm" },
    });
    const shown = watching();
    const teacher = taskWith(where, { losses: [...ppo(), cloning], learningRate: 0.02 });
    await trained(teacher, { epochs: 12 }, [shown.hook]);
    const [begin, end] = [
      (numbers: readonly number[] = []) => mean(numbers.slice(0, 4)),
      (numbers: readonly number[] = []) => mean(numbers.slice(-4)),
    ];
    expect(shown.found["cloning.loss"]).toHaveLength(48);
    expect(end(shown.found["cloning.loss"])).toBeLessThan(0.6 * begin(shown.found["cloning.loss"]));
    expect(end(shown.found["cloning.accuracy"])).toBeGreaterThan(0.95);

    const taught = watching();
    const kickstart = kickstartLoss({ teacher: policy, params: teacher.params });
    await trained(taskWith(where, { losses: [...ppo(), kickstart], learningRate: 0.01 }), { epochs: 8 }, [
      taught.hook,
    ]);
    expect(end(taught.found["kickstart.loss"])).toBeLessThan(0.5 * begin(taught.found["kickstart.loss"]));
    expect(end(taught.found["episode.return"])).toBeGreaterThan(begin(taught.found["episode.return"]));
  });

  it("A2C's learn what is to be done", async () => {
    const { hook, found } = watching();
    const task = onPolicyTask({
      ...{ env: worlds(where, matching, 8), policy, rolloutSteps: 10, gamma: 0.5, lambda: 1 },
      losses: [policyGradientLoss(), valueLoss({ weight: 0.5 }), entropyLoss({ weight: 0.01 })],
      optimizer: chain(clipByGlobalNorm(0.5), rmsprop({ decay: 0.99, epsilon: 1e-5 })),
      ...{ learningRate: 0.01, engine: "wasm" },
    });
    await trained(task, { epochs: 80 }, [hook]);
    const returns = found["episode.return"] ?? [];
    // By chance 4 / 3 of 4.
    expect(mean(returns.slice(0, 5))).toBeLessThan(2.2);
    expect(mean(returns.slice(-10))).toBeGreaterThan(3.4);
  });
});

describe.each(inSample ? both : [])("losses beside PPO's, with %s environments", (where) => {
  it("take part in the epochs and updates they are scheduled for, with the same bits after a resume", async () => {
    const losses = () => [
      ...ppo().slice(0, 2),
      entropyLoss({ active: { train: between({ updates: [3, 5] }) } }),
      kickstartLoss({
        ...{ teacher: policy, params: policy.init(5, { engine: "wasm" }), weight: 0.2 },
        active: { rollout: cycle({ epochs: 2, active: [2] }), train: cycle({ epochs: 2, active: [2] }) },
      }),
    ];
    const whole = watching();
    const once = await trained(taskWith(where, { losses: losses() }), {}, [whole.hook]);
    expect(whole.at["entropy.loss"]?.map(({ updates }) => updates)).toEqual([4, 5, 6]);
    expect(whole.at["kickstart.loss"]?.map(({ epoch }) => epoch)).toEqual([1, 1, 1, 1, 3, 3, 3, 3]);
    expect(whole.found["kickstart.loss"]?.every((x) => x > 0)).toBe(true);
    expect(whole.found["policy.loss"]).toHaveLength(16);

    const cut = await trained(taskWith(where, { losses: losses() }), { fuse: false });
    expect(cut.hashes).toEqual(once.hashes);

    const again = await resumed(() => taskWith(where, { losses: losses() }));
    expect(again.hashes).toEqual(once.hashes);
  });

  it("a policy that moves too far is left alone until the next rollout", async () => {
    const run = async (fuse: boolean) => {
      const { hook, applied, found } = watching();
      const task = taskWith(where, { targetKl: 1e-6, minibatches: 1, updateEpochs: 3, learningRate: 0.01 });
      const { hashes, counters } = await trained(task, { epochs: 3, fuse }, [hook]);
      return { hashes, counters, applied, kl: found["policy.approxKl"] };
    };
    const fused = await run(true);
    // The first update of each rollout begins where the policy acted; after it the policy has moved.
    expect(fused.applied).toEqual([1, 0, 0, 1, 0, 0, 1, 0, 0]);
    expect(fused.counters.updates).toBe(9);
    expect(fused.kl?.[1]).toBe(fused.kl?.[2]);
    const single = await run(false);
    expect(single.applied).toEqual(fused.applied);
    expect(single.hashes).toEqual(fused.hashes);
    // One update each is what that comes to.
    const once = taskWith(where, { minibatches: 1, updateEpochs: 1, learningRate: 0.01 });
    expect((await trained(once, { epochs: 3 })).hashes.params).toBe(fused.hashes.params);
  });
});

describeInSample("what a task is given", () => {
  it("lent parameters stay as they are", async () => {
    const params = policy.init(2, { engine: "wasm" });
    const before = await hashState(params as StateTree);
    const task = taskWith("compiled", { params });
    expect((await hashes(task)).params).toBe(before);
    await trained(task, { epochs: 1 });
    expect(await hashState(params as StateTree)).toBe(before);
    expect((await hashes(task)).params).not.toBe(before);
  });

  it("an optimizer of one's own rates is told them", async () => {
    const task = taskWith("compiled", { optimizer: adam({ learningRate: 0 }), learningRate: 0 });
    const before = (await hashes(task)).params;
    await new Trainer({ task, config: { epochs: 1 } }).train();
    expect((await hashes(task)).params).toBe(before);
  });
});
