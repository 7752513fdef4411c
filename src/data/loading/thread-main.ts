import { answerCalls, node } from "../../core/index.ts";
import type { Recipe } from "../dataset.ts";
import type { Example } from "../example.ts";
import { datasetFromRecipe } from "../recipe.ts";
import { BatchMaker, type BatchRequest, isEnd, type Made } from "./batches.ts";

export interface LoaderThreadData {
  readonly recipe: Recipe;
  readonly skip: boolean;
}

export interface LoaderThreadRequest {
  readonly batch: BatchRequest;
  /** Memory of batches that the program is done with. */
  readonly used: readonly ArrayBuffer[];
}

/** The message that ends a thread. */
export const closing = "close";

/** The work of a worker thread of a loader: makes the dataset, then batches, one request after the other. */
export function runThread({ recipe, skip }: LoaderThreadData): void {
  let maker: Promise<BatchMaker> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const make = ({ batch, used }: LoaderThreadRequest): Promise<Made> => {
    const made = last.then(async () => {
      // The main thread asked for examples of a dataset of examples.
      maker ??= datasetFromRecipe<Example>(recipe).then((data) => new BatchMaker(data, skip));
      return (await maker).make(batch, used);
    });
    last = made.catch(() => undefined);
    return made;
  };
  answerCalls(make, (made) => (isEnd(made) ? [] : made.memory));
  node.workerThreads.parentPort?.on("message", (message: unknown) => {
    if (message === closing) process.exit();
  });
}
