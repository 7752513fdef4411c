import { expect } from "vitest";
import type { EngineName } from "../../engine/index.ts";
import { adam, chain, clipByGlobalNorm } from "../../optim/index.ts";
import { every, linear } from "../../schedule/index.ts";
import { hashState, type StateTree } from "../../state/index.ts";
import { Trainer, type TrainerHook, type TrainingConfig } from "../../trainer/index.ts";
import { compiledEnvironment } from "../environments/registry.ts";
import { entropyLoss, policyLoss, valueLoss } from "../losses/actor-critic.ts";
import { vectorEnvironment } from "../vector/vector-environment.ts";
import type { OnPolicyOptions } from "./options.ts";
import { type OnPolicyTask, onPolicyTask } from "./task.ts";

export type Where = "compiled" | "ordinary";

/** Environments of a name, inside the program or beside it. */
export const environments = (where: Where, name = "CartPole-v1", count = 4): OnPolicyOptions["env"] =>
  where === "compiled"
    ? { compiled: compiledEnvironment(name), count }
    : vectorEnvironment({ make: name, count });

/** A small PPO in which everything moves. */
export function smallTask(
  where: Where,
  engine: EngineName,
  more: Partial<OnPolicyOptions> = {},
): OnPolicyTask {
  return onPolicyTask({
    env: environments(where),
    losses: [
      policyLoss({ clip: linear({ from: 0.2, to: 0.1, over: { epochs: 10 } }) }),
      valueLoss({ clip: 0.2 }),
      entropyLoss(),
    ],
    optimizer: chain(clipByGlobalNorm(0.5), adam({ epsilon: 1e-5 })),
    learningRate: linear({ from: 1e-3, to: 0, over: { epochs: 10 } }),
    ...{
      rolloutSteps: 16,
      updateEpochs: 2,
      minibatches: 2,
      policy: { encoder: { kind: "mlp", hidden: [8] } },
    },
    ...{ engine, maxEpochs: 3, ...more },
  });
}

/** Hashes of a task's components. */
export async function hashes(task: OnPolicyTask): Promise<Readonly<Record<string, string>>> {
  const all = Object.entries(task.components).map(async ([name, part]) => {
    return [name, await hashState(await part.getState())] as const;
  });
  return Object.fromEntries(await Promise.all(all));
}

/** Trains, and gives what came of it. */
export async function trained(
  task: OnPolicyTask,
  config: Partial<TrainingConfig> = {},
  hooks: readonly TrainerHook[] = [],
) {
  const trainer = new Trainer({ task, config: { epochs: 4, seed: 3, ...config }, hooks });
  const result = await trainer.train();
  return { hashes: await hashes(task), counters: { ...result.counters, seconds: 0 }, trainer, result };
}

/** Breaks a run off after six batches, and gives what comes of another that goes on from its state. */
export async function resumed(make: () => OnPolicyTask) {
  let states: Readonly<Record<string, StateTree>> = {};
  const stop: TrainerHook = {
    name: "stop",
    schedule: every({ batches: 6 }),
    onBatchEnd: async ({ snapshot, stop }) => {
      states = (await snapshot()).components;
      stop("enough");
    },
  };
  await trained(make(), {}, [stop]);
  const task = make();
  // A run from the beginning would end with the same bits.
  const start: TrainerHook = {
    name: "start",
    onTrainingStart: ({ counters }) => expect(counters.batches).toBe(6),
  };
  const trainer = new Trainer({ task, config: { epochs: 4, seed: 3 }, hooks: [start] });
  for (const [name, part] of Object.entries(trainer.components))
    if (name in states) await part.setState(states[name] as StateTree);
  const { counters } = await trainer.train();
  return { hashes: await hashes(task), counters: { ...counters, seconds: 0 } };
}
