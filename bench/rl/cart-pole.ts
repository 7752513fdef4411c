import { ppo } from "../../src/rl/index.ts";
import { Trainer } from "../../src/trainer/index.ts";
import type { Subject } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";

const steps = 128;
/** CleanRL's settings: so many environments, and frames an update. */
export const cartPole = { environments: 4, frames: 4 * steps };

export interface CartPoleOptions {
  readonly engine: "xla" | "wasm";
  readonly compiled: boolean;
  readonly environments?: number;
}

/** Runs at CleanRL's settings, all of one task, which compiles once; a step is a frame. */
export async function trainingOf(options: CartPoleOptions): Promise<Subject> {
  const { environments = cartPole.environments } = options;
  const agent = ppo({
    env: "CartPole-v1",
    preset: "cleanrl",
    rolloutSteps: steps,
    seed: 0,
    ...options,
    environments,
  });
  const { config, ...setup } = agent.setup();
  const train = async (frames: number): Promise<void> => {
    const trainer = new Trainer({ ...setup, config: { ...config, epochs: frames / (environments * steps) } });
    const { counters } = await trainer.train();
    if (counters.samples !== frames)
      throw new Error(`${counters.samples} frames were played instead of ${frames}`);
  };
  // Compiles.
  await train(2 * environments * steps);
  return { run: (frames) => seconds(() => train(frames)), dispose: () => agent.close() };
}
