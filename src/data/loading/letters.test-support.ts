import type { StateTree } from "../../state/index.ts";
import { Dataset } from "../dataset.ts";
import type { Example, ExampleArray } from "../example.ts";
import { fromModule } from "../recipe.ts";
import type { LoadedBatch } from "./batches.ts";
import { createLoader, type DataLoader, type DataLoaderConfig } from "./data-loader.ts";

/** Options of {@link letters}. */
export interface LettersOptions {
  readonly rows?: number;
  /** Rows that throw. */
  readonly bad?: readonly number[];
  /** A row that never comes. */
  readonly hangs?: number;
  /** A row that ends its thread. */
  readonly ends?: number;
  readonly stream?: boolean;
  /** Examples from this row on are longer. */
  readonly longFrom?: number;
  /** Targets count the examples that were made by the same thread. */
  readonly counts?: boolean;
}

/** Examples with random noise of their own, for threads too: fromModule(this file). */
export function letters(options: LettersOptions = {}): Dataset<Example> {
  const { rows = 23, bad = [], hangs, ends, stream = false, longFrom = rows, counts = false } = options ?? {};
  let made = 0;
  const row = (i: number): number => {
    if (bad.includes(i)) throw new Error(`letter ${i} is smudged`);
    if (i === ends) process.exit(3);
    return i;
  };
  const data = new Dataset<number>({
    name: "letters",
    length: rows,
    get: (i) => (i === hangs ? new Promise<number>(() => {}) : row(i)),
  });
  const numbers = stream ? data.filter((i) => i % 7 !== 6) : data;
  return numbers.map((i, { random, epoch }) => ({
    x: Float32Array.of(i, random.uniform(), epoch, ...(i < longFrom ? [] : [0])),
    y: { data: Int32Array.of(counts ? ++made : i % 3), shape: [] },
  }));
}

/** A loader of letters, which threads can make too. */
export async function lettersLoader(
  options: LettersOptions = {},
  config: Partial<DataLoaderConfig> = {},
): Promise<DataLoader> {
  const data = await fromModule(new URL(import.meta.url), { name: "letters", options: { ...options } });
  return createLoader(data, { batchSize: 4, seed: 3, ...config });
}

const numbersOf = ({ x, y, rows }: LoadedBatch) => ({
  x: [...(x as ExampleArray).data],
  y: [...(y as ExampleArray).data],
  rows: [...rows],
});

/** Batches of some epochs, then the loader is closed. */
export async function epochs(loader: DataLoader, count: number) {
  const all: ReturnType<typeof numbersOf>[][] = [];
  try {
    for (let epoch = 0; epoch < count; epoch++) {
      const batches: ReturnType<typeof numbersOf>[] = [];
      for await (const batch of loader) batches.push(numbersOf(batch));
      all.push(batches);
    }
  } finally {
    await loader.close();
  }
  return all;
}

/** A loader's state as a file gives it back. */
export const restored = (state: StateTree): StateTree =>
  JSON.parse(JSON.stringify(state), (name, value) =>
    name === "key" ? Uint32Array.from(Object.values(value)) : value,
  );
