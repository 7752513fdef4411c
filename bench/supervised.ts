import type { Figure } from "./harness/figure.ts";
import { convStep } from "./supervised/conv.ts";
import { generation } from "./supervised/generate.ts";
import { imagesOnWorkers } from "./supervised/images.ts";
import { loaderInMemory } from "./supervised/loader.ts";
import { tokenStream } from "./supervised/tokens.ts";
import { wholeRuns } from "./supervised/whole-run.ts";

/** Training on examples: steps, whole runs, loading, streams and generated text, beside JAX and PyTorch. */
export const figures: readonly Figure[] = [
  convStep,
  ...wholeRuns,
  loaderInMemory,
  ...tokenStream,
  ...imagesOnWorkers,
  generation,
];
