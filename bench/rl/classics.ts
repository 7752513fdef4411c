import { ppo } from "../../src/rl/index.ts";
import type { SampledFigure } from "../harness/figure.ts";

interface Task {
  readonly env: string;
  /** What rl-baselines3-zoo gives its tuned settings for it. */
  readonly frames: number;
  readonly above: number;
}

const tasks: readonly Task[] = [
  { env: "Acrobot-v1", frames: 1_000_000, above: -100 },
  { env: "Pendulum-v1", frames: 100_000, above: -200 },
];

/** Many: returns of single episodes of Pendulum lie hundreds apart, by where it begins. */
const episodes = 100;

/** What the tuned settings reach within the frames that Stable-Baselines3's tuned settings are given. */
export const classics: readonly SampledFigure[] = tasks.map(({ env, frames, above }) => ({
  kind: "sampled",
  name: `${env} after ${frames.toLocaleString("en")} frames at the tuned settings: mean return over 5 seeds`,
  engine: "xla",
  unit: "return",
  samples: 5,
  ours: async () => ({
    sample: async (seed) => {
      const agent = ppo({ env, preset: "tuned", compiled: true, engine: "xla", seed });
      await agent.train({ steps: frames });
      return (await agent.evaluate({ episodes })).return;
    },
  }),
  peers: {},
  bars: [{ kind: "absolute", above }],
}));
