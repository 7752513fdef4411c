import type { Figure } from "./harness/figure.ts";
import { convStep } from "./supervised/conv.ts";
import { wholeRuns } from "./supervised/whole-run.ts";

/** Training on examples: steps, whole runs, loading, streams and generated text, beside JAX and PyTorch. */
export const figures: readonly Figure[] = [convStep, ...wholeRuns];
