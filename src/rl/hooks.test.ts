import { describe, expect, it } from "vitest";
import { checkpointHook, memoryStore } from "../checkpoint/index.ts";
import { rollbackHook } from "../metrics/index.ts";
import { every, piecewise } from "../schedule/index.ts";
import { hashState, type StateTree } from "../state/index.ts";
import { earlyStopping, emaHook, type Trainer, type TrainerHook } from "../trainer/index.ts";
import { evaluationHook } from "./evaluation/evaluation-hook.ts";
import { smallTask, trained, type Where } from "./on-policy/on-policy.test-support.ts";

const wheres: readonly Where[] = ["compiled", "ordinary"];
const partOf = async ({ components }: Trainer, name: string) =>
  hashState((await components[name]?.getState()) as StateTree);

const engine = "wasm";

describe("hooks of every task, with PPO", () => {
  it("earlyStopping stops by the return of rollouts and of evaluations, and puts the best policy back", async () => {
    const task = smallTask("compiled", engine, { normalize: { observations: true } });
    const found: { readonly params: string; readonly normalizer: string }[] = [];
    const suites = { cartpole: { env: "CartPole-v1" } };
    const evaluation = evaluationHook({
      ...{ player: task.player, suites, episodes: 3, schedule: every({ epochs: 1 }) },
    });
    const metric = "evaluation/cartpole.return";
    const watch: TrainerHook = {
      name: "watch",
      after: ["evaluation"],
      onEpochEnd: async ({ components }) => {
        const hash = async (name: string) => hashState((await components[name]?.getState()) as StateTree);
        found.push({ params: await hash("params"), normalizer: await hash("normalizer") });
      },
    };
    // A score that is 1000 better is never found: the first is the best.
    const stop = earlyStopping({ metric, direction: "max", patience: 2, minDelta: 1000, restoreBest: true });
    const { trainer, result } = await trained(task, { epochs: 6 }, [stop, evaluation, watch]);
    expect([result.outcome, result.counters.epochs]).toEqual(["stopped", 3]);
    expect(await partOf(trainer, "params")).toBe(found[0]?.params);
    expect(await partOf(trainer, "normalizer")).toBe(found[0]?.normalizer);

    const rollouts = earlyStopping({
      metric: "rollout/episode.return",
      direction: "max",
      minDelta: 1000,
      patience: 1,
    });
    const stopped = await trained(smallTask("compiled", engine), { epochs: 8 }, [rollouts]);
    expect(stopped.result.outcome).toBe("stopped");
  });

  it.each(wheres)("emaHook is the same fused or not, and interrupted, %s", async (where) => {
    const run = async (fuse: boolean, epochs = [4], store = memoryStore()) => {
      let average = "";
      for (const each of epochs) {
        const hooks = [emaHook({ decay: 0.8 }), checkpointHook({ store })];
        const { trainer } = await trained(smallTask(where, engine), { fuse, epochs: each }, hooks);
        average = await partOf(trainer, "ema");
        expect(average).not.toBe(await partOf(trainer, "params"));
      }
      return average;
    };
    const whole = await run(true);
    expect(await run(false)).toBe(whole);
    expect(await run(true, [2, 4])).toBe(whole);
  });

  it("rollbackHook goes back after a rate that ruins the policy", async () => {
    const learningRate = piecewise({
      updates: [
        [0, 1e-3],
        [9, 1e20],
        [10, 1e-3],
      ],
    });
    const task = smallTask("compiled", engine, { learningRate, normalize: { observations: true } });
    const { result } = await trained(task, { epochs: 6 }, [rollbackHook({ updates: 4 })]);
    expect(result.outcome).toBe("completed");
    expect(Number.isFinite(result.metrics.loss)).toBe(true);
  });
});
