import { ppo } from "../../src/rl/index.ts";
import type { SampledFigure } from "../harness/figure.ts";
import { cartPole } from "./cart-pole.ts";

/** Whole updates, just short of 100,000 frames. */
const frames = Math.floor(100_000 / cartPole.frames) * cartPole.frames;
const episodes = 20;

/** Whether the same settings learn the same: what 20 episodes return, the policy acting as in training. */
const figure = (compiled: boolean): SampledFigure => ({
  kind: "sampled",
  name: `CartPole after 100,000 frames at CleanRL's settings, ${compiled ? "compiled" : "ordinary"} environments: mean return over 10 seeds`,
  engine: "xla",
  unit: "return",
  samples: 10,
  ours: async () => ({
    sample: async (seed) => {
      const agent = ppo({ env: "CartPole-v1", preset: "cleanrl", compiled, engine: "xla", seed });
      await agent.train({ steps: frames });
      return (await agent.evaluate({ episodes, deterministic: false })).return;
    },
  }),
  peers: {
    torchPpo: { script: "rl_torch.py", case: "learning", params: { frames, episodes, greedy: false } },
  },
  bars: [{ kind: "spread", against: "torchPpo" }],
});

export const learning: readonly SampledFigure[] = [figure(false), figure(true)];
