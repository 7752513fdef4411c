import { node, type SentError, sendError, treeLeaves } from "../../core/index.ts";
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

/** A request and its answer have the same number. */
export type LoaderThreadRequest = { readonly id: number; readonly request: BatchRequest };
export type LoaderThreadAnswer = { readonly id: number } & (
  | { readonly made: Made }
  | { readonly error: SentError }
);

/** The work of a worker thread of a loader: makes the dataset, then batches, one request after the other. */
export async function runThread({ recipe, skip }: LoaderThreadData): Promise<void> {
  const port = node.workerThreads.parentPort;
  if (!port) return;
  const answer = (message: LoaderThreadAnswer): void =>
    port.postMessage(message, "made" in message ? buffersOf(message.made) : []);
  let maker: Promise<BatchMaker> | undefined;
  let last = Promise.resolve();
  const perform = async ({ id, request }: LoaderThreadRequest): Promise<void> => {
    try {
      // The main thread asked for examples of a dataset of examples.
      maker ??= datasetFromRecipe<Example>(recipe).then((data) => new BatchMaker(data, skip));
      answer({ id, made: await (await maker).make(request) });
    } catch (error) {
      answer({ id, error: sendError(error) });
    }
  };
  port.on("message", (message: LoaderThreadRequest | typeof closing) => {
    if (message === closing) process.exit();
    last = last.then(() => perform(message));
  });
}

/** The memory of a batch, which is moved to the main thread instead of being copied. */
function buffersOf(made: Made): ArrayBuffer[] {
  if (isEnd(made)) return [];
  const { rows: _, ...arrays } = made.batch;
  const leaves = treeLeaves<unknown>(arrays).filter((leaf) => ArrayBuffer.isView(leaf));
  return [...new Set(leaves.map(({ buffer }) => buffer as ArrayBuffer))];
}
