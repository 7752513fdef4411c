// A training set-up in a file of its own: `espalier prove-resume examples/setups/grid.ts`. PPO with everything that a
// resumed run could get wrong: unfinished episodes, a policy that remembers, normalised observations and rewards, a
// curriculum that decides which lesson comes next, a learning rate that falls, and evaluations on the way.
import { every, type TrainingSetup } from "espalier";
import { evaluationHook, lessonCurriculum, lessonSuites, makeEnvironment, ppo } from "espalier/rl";

const environment = "GridWorld-v0";
const { lessons = [] } = makeEnvironment(environment);

export const setup: TrainingSetup = () => {
  const agent = ppo({
    env: environment,
    ...{ environments: 4, rolloutSteps: 16, updateEpochs: 2, minibatches: 2, segment: 8, totalSteps: 6 * 64 },
    policy: { encoder: { kind: "mlp", hidden: [16] }, memory: { kind: "gru", width: 8 } },
    ...{ normalizeObservations: true, normalizeRewards: true },
    curriculum: lessonCurriculum({
      lessons: lessons.map((name, i) => ({ name, ...(i > 0 && { after: [lessons[i - 1] as string] }) })),
    }),
  });
  return agent.setup({
    config: { seed: 7, name: "grid" },
    hooks: ({ player }) => [
      evaluationHook({
        player,
        suites: lessonSuites(environment),
        schedule: every({ epochs: 2 }),
        episodes: 2,
      }),
    ],
  });
};
