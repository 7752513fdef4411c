// A training set-up whose rollouts are made by a worker in this process: `espalier prove-resume
// examples/setups/rollouts.ts`. Everything that a resumed run could get wrong: environments in the middle of episodes,
// for each lesson its own, a policy that remembers, a curriculum that the worker's evaluations move, and rows that are
// drawn at random from what is kept.
import { every, linear, type TrainingSetup } from "espalier";
import { lessonCurriculum } from "espalier/rl";
import { environmentRollouts, policyTask } from "espalier/rollout";

const game = {
  env: "GridWorld-v0",
  policy: { encoder: { kind: "mlp", hidden: [16] }, memory: { kind: "gru", width: 8 } },
} as const;
const lessons = ["near", "far", "wall"];

export const setup: TrainingSetup = () => ({
  task: policyTask({
    ...game,
    generator: environmentRollouts({ ...game, lessons, count: 4, steps: 16 }),
    worker: {
      curriculum: lessonCurriculum({
        lessons: lessons.map((name, i) => ({ name, ...(i > 0 && { after: [lessons[i - 1] as string] }) })),
      }),
      ...{ microEvalFrequency: 2, microEvalExamples: 2, evalFrequency: 12, evalExamples: 2 },
    },
    ...{ rollouts: 2, batchSize: 3, updates: 6, maxReuse: 3, maxStaleness: 11, examples: 2 },
    learningRate: linear({ from: 1e-2, to: 1e-3, over: { epochs: 8 } }),
  }),
  config: { epochs: 8, seed: 7, name: "rollouts", validate: every({ epochs: 4 }) },
});
