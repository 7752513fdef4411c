import { answerCalls, node, treeLeaves } from "../../core/index.ts";
import type { Recipe } from "../dataset.ts";
import type { Example } from "../example.ts";
import { datasetFromRecipe } from "../recipe.ts";
import { BatchMaker, type BatchRequest, isEnd, type Made } from "./batches.ts";

export interface LoaderThreadData {
  readonly recipe: Recipe;
  readonly skip: boolean;
}

/** The message that ends a thread. */
export const closing = "close";

/** The work of a worker thread of a loader: makes the dataset, then batches, one request after the other. */
export function runThread({ recipe, skip }: LoaderThreadData): void {
  let maker: Promise<BatchMaker> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  answerCalls((request: BatchRequest) => {
    const made = last.then(async () => {
      // The main thread asked for examples of a dataset of examples.
      maker ??= datasetFromRecipe<Example>(recipe).then((data) => new BatchMaker(data, skip));
      return (await maker).make(request);
    });
    last = made.catch(() => undefined);
    return made;
  }, buffersOf);
  node.workerThreads.parentPort?.on("message", (message: unknown) => {
    if (message === closing) process.exit();
  });
}

/** The memory of a batch, which is moved to the main thread instead of being copied. */
function buffersOf(made: Made): ArrayBuffer[] {
  if (isEnd(made)) return [];
  const { rows: _, ...arrays } = made.batch;
  const leaves = treeLeaves<unknown>(arrays).filter((leaf) => ArrayBuffer.isView(leaf));
  return [...new Set(leaves.map(({ buffer }) => buffer as ArrayBuffer))];
}
