import type { Figure } from "./harness/figure.ts";
import { hookCalls } from "./hooks/calls.ts";
import { manyHooks } from "./hooks/many.ts";
import { trainerMemory } from "./hooks/memory.ts";
import { ownCost } from "./hooks/own-cost.ts";
import { startUp } from "./hooks/start.ts";
import { trainingFigures } from "./hooks/training.ts";

/** What hooks and the trainer cost by themselves, with the figures that document 003 names beside ours. */
export const figures: readonly Figure[] = [
  ...hookCalls,
  ...manyHooks,
  ...ownCost,
  ...trainingFigures,
  ...startUp,
  ...trainerMemory,
];
