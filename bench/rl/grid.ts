import {
  type Curriculum,
  lessonCurriculum,
  makeEnvironment,
  type PpoOptions,
  ppo,
} from "../../src/rl/index.ts";
import type { SampledFigure } from "../harness/figure.ts";

const env = "GridWorld-v0";
const lessons = makeEnvironment(env).lessons ?? [];
const hardest = lessons.length - 1;
const frames = 2_000_000;
const settings: PpoOptions = {
  ...{ env, preset: "cleanrl", compiled: true, engine: "xla" },
  ...{ environments: 64, rolloutSteps: 64, minibatches: 8, learningRate: 1e-3 },
};
/** Solved: the goal is reached in so many of a hundred episodes, the policy acting as in training. */
const solved = 90;

/** One lesson after the other, each when the one before it is mastered. */
const inTurn = (): Curriculum =>
  lessonCurriculum({
    lessons: lessons.map((name, i) => ({ name, ...(i > 0 && { after: [lessons[i - 1] as string] }) })),
  });

/** The hardest lesson from the start. */
const atOnce = (): Curriculum => {
  const shares = Float32Array.from(lessons, (_, i) => (i === hardest ? 1 : 0));
  return {
    lessons,
    shares: () => shares,
    trained: () => {},
    evaluated: () => {},
    metrics: () => ({}),
    getState: () => null,
    setState: () => {},
  };
};

const figure = (name: string, curriculum: () => Curriculum, bar: "atLeast" | "below"): SampledFigure => ({
  kind: "sampled",
  name: `the grid world's maze after ${frames.toLocaleString("en")} frames, ${name}: episodes solved`,
  engine: "xla",
  unit: "%",
  samples: 5,
  ours: async () => ({
    sample: async (seed) => {
      const agent = ppo({ ...settings, seed, curriculum: curriculum() });
      await agent.train({ steps: frames });
      const { scores } = await agent.evaluate({ episodes: 100, lesson: hardest, deterministic: false });
      return 100 * (scores.positive as number);
    },
  }),
  peers: {},
  bars: [bar === "below" ? { kind: "absolute", below: solved } : { kind: "absolute", atLeast: solved }],
});

/** What the curriculum is for: the hardest lesson is learned with it, and not without it in as many frames. */
export const grid: readonly SampledFigure[] = [
  figure("with the curriculum", inTurn, "atLeast"),
  figure("the maze alone from the start", atOnce, "below"),
];
