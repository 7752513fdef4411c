import { type RolloutGenerator, RolloutWorker, type WorkerHook } from "../../src/rollout/index.ts";
import { every, when } from "../../src/schedule/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";

const idle = (): void => {};

/** Ten hooks as a worker has them, all without anything to do; one of them runs at every step. */
const tenHooks: readonly WorkerHook[] = [
  { name: "begin", onWorkerStart: idle, onWorkerEnd: idle },
  { name: "weights", onWeights: idle },
  { name: "lessons", onLessonStart: idle },
  { name: "rollouts", onRolloutEnd: idle },
  { name: "micro", schedule: every({ steps: 10 }), run: idle },
  { name: "full", schedule: every({ updates: 100 }), run: idle },
  { name: "logging", schedule: every({ steps: 100 }), run: idle },
  { name: "samples", schedule: every({ samples: 64_000 }), run: idle },
  { name: "condition", schedule: when(() => false), run: idle },
  { name: "watching", run: idle },
];

/** Rolls nothing out, so that what is left is the worker. */
const idleGenerator: RolloutGenerator = {
  lessons: ["one", "two"],
  setParams: idle,
  rollout: async () => ({ arrays: {}, episodes: 1, return: 0, positive: 0 }),
  evaluate: async ({ examples }) => ({ episodes: examples, return: 0, positive: 0 }),
};

/** Steps of a worker with ten hooks: lesson, keys, log and hooks. Weights come once, and rollouts go nowhere. */
async function workerSteps(): Promise<Subject> {
  return {
    run: async (steps) => {
      const worker = new RolloutWorker({
        generator: idleGenerator,
        weights: { receive: async ({ wait } = {}) => (wait ? { id: 0, arrays: {} } : undefined) },
        rollouts: { send: async () => {} },
        defaultHooks: false,
        hooks: tenHooks,
      });
      return seconds(() => worker.run({ steps }));
    },
  };
}

/** What a worker's step costs beyond the rollout and the work of its hooks. */
export const workerFigures: readonly TimedFigure[] = [
  {
    kind: "timed",
    name: "a rollout worker's own cost a step, with ten hooks",
    engine: "host",
    unit: "us",
    ours: workerSteps,
    peers: {},
    bars: [{ kind: "absolute", atMost: 20 }],
  },
];
