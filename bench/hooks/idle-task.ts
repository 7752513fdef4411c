import { every, when } from "../../src/schedule/index.ts";
import type { Report, Task, TrainerHook } from "../../src/trainer/index.ts";

/** Batches an epoch. */
export const epochLength = 1000;

/** Training that trains nothing, so that what is left is the trainer. */
export function idleTask(): Task {
  const report: Report = { metrics: {} };
  const segments = [
    {
      phase: "train" as const,
      repeats: epochLength,
      adds: { updates: 1, samples: 64 },
      fusesWithNext: false,
      maxFuse: 256,
    },
  ];
  return {
    components: {},
    sampleUnit: "examples",
    stepUnit: "updates",
    ramps: {},
    epoch: () => segments,
    run: () => report,
    snapshot: () => ({ components: {} }),
  };
}

const idle = (): void => {};

/** Ten hooks as a run has them, all without anything to do: none of them looks at every batch, or one does. */
export const tenHooks = (watching: boolean): readonly TrainerHook[] => [
  { name: "begin", onTrainingStart: idle, onTrainingEnd: idle },
  { name: "progress", schedule: every({ updates: 100 }), onBatchEnd: idle },
  { name: "metrics", onBatchesEnd: idle, onEpochEnd: idle },
  { name: "gradients", onBatchesEnd: idle },
  { name: "samples", schedule: every({ samples: 64_000 }), onBatchEnd: idle },
  { name: "evaluation", schedule: every({ epochs: 5 }), onEpochEnd: idle },
  { name: "checkpoint", schedule: every({ updates: 500, from: 1000 }), onBatchEnd: idle },
  { name: "heartbeat", schedule: every({ epochs: 1 }), onEpochStart: idle, onEpochEnd: idle },
  { name: "condition", schedule: when(() => false), onEpochEnd: idle },
  watching ? { name: "watching", onBatchEnd: idle } : { name: "last", onTrainingEnd: idle },
];
