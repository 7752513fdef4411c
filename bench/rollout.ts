import type { Figure } from "./harness/figure.ts";
import { additionFigures } from "./rollout/addition.ts";
import { transportFigures } from "./rollout/transport.ts";
import { workerFigures } from "./rollout/worker.ts";

/** Rollout workers and reinforcement learning of language models. */
export const figures: readonly Figure[] = [...workerFigures, ...transportFigures, ...additionFigures];
