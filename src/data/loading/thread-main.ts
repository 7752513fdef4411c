import { node, type SentError, sendError } from "../../core/index.ts";
import type { HostArray } from "../../engine/index.ts";
import type { Dataset, Recipe } from "../dataset.ts";
import type { Example, ExampleArrayTree } from "../example.ts";
import { datasetFromRecipe } from "../recipe.ts";
import { BatchMaker, type BatchRequest, isEnd, type Made } from "./batches.ts";

/** The work of a thread. */
export interface LoaderThreadData {
  readonly recipe: Recipe;
  readonly skip: boolean;
}

/** A request with its number, which the answer has too. */
export interface LoaderThreadRequest {
  readonly id: number;
  readonly request: BatchRequest;
}

export type LoaderThreadAnswer =
  | { readonly id: number; readonly made: Made }
  | { readonly id: number; readonly error: SentError };

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
      maker ??= makerOf(recipe, skip);
      answer({ id, made: await (await maker).make(request) });
    } catch (error) {
      answer({ id, error: sendError(error) });
    }
  };
  port.on("message", (message: LoaderThreadRequest) => {
    last = last.then(() => perform(message));
  });
}

async function makerOf(recipe: Recipe, skip: boolean): Promise<BatchMaker> {
  // The main thread asked for examples of a dataset of examples.
  return new BatchMaker((await datasetFromRecipe(recipe)) as Dataset<Example>, skip);
}

/** The memory of a batch, which is moved to the main thread instead of being copied. */
function buffersOf(made: Made): ArrayBuffer[] {
  if (isEnd(made)) return [];
  const buffers = new Set<ArrayBuffer>();
  const add = (tree: ExampleArrayTree): void => {
    if (ArrayBuffer.isView(tree.data)) buffers.add((tree.data as HostArray).buffer as ArrayBuffer);
    else for (const part of Object.values(tree)) add(part as ExampleArrayTree);
  };
  const { x, y, weight } = made.batch;
  for (const part of [x, y, weight]) if (part) add(part);
  return [...buffers];
}
