import type { Histogram } from "../../record.ts";
import { PythonReader, pythonWith } from "../python.test-support.ts";

/** A number as the reader prints it. */
export type Printed = number | "NaN" | "Infinity" | "-Infinity";

interface OldHistogram {
  readonly min: number;
  readonly max: number;
  readonly num: number;
  readonly sum: number;
  readonly sum_squares: number;
  readonly bucket_limit: readonly number[];
  readonly bucket: readonly number[];
}

/** What one of TensorBoard's runs holds, by tag. */
export interface RunFound<H = readonly (readonly number[])[]> {
  readonly scalars: Readonly<
    Record<string, readonly (readonly [step: number, wall: number, value: Printed])[]>
  >;
  readonly histograms: Readonly<Record<string, readonly (readonly [step: number, H])[]>>;
  readonly texts: Readonly<Record<string, readonly (readonly [step: number, text: string])[]>>;
  readonly descriptions?: Readonly<Record<string, string>>;
}

/** What TensorBoard's readers find in a directory: see scripts/readers/tensorboard_files.py. */
export interface FoundRuns {
  readonly accumulator: Readonly<Record<string, RunFound<OldHistogram>>>;
  readonly loader: Readonly<Record<string, RunFound>>;
  readonly fast: Readonly<Record<string, RunFound>> | null;
  readonly sessions: Readonly<
    Record<
      string,
      {
        readonly parameters: Readonly<Record<string, number | string | boolean>>;
        readonly status: string | null;
        readonly metrics: readonly string[];
      }
    >
  >;
}

export interface TensorBoardReaders {
  read(directory: string, choice?: { readonly fast?: boolean }): Promise<FoundRuns>;
  close(): void;
}

/** TensorBoard's own readers, where a Python has them. */
export function findOriginal(): TensorBoardReaders | { readonly missing: string } {
  const found = pythonWith("tensorboard", "import tensorboard.plugins.hparams");
  if ("missing" in found) return found;
  const reader = new PythonReader(found.python, "tensorboard_files.py");
  return {
    async read(directory, { fast = false } = {}) {
      const [first] = await reader.ask<readonly FoundRuns[]>(...(fast ? ["--fast"] : []), directory);
      return first as FoundRuns; // One for each directory.
    },
    close: () => reader.close(),
  };
}

/** A histogram as ours. TensorBoard has the least number for the first edge. */
export const histogramOf = (old: OldHistogram): Histogram => ({
  edges: [old.min, ...old.bucket_limit],
  counts: old.bucket,
  min: old.min,
  max: old.max,
  sum: old.sum,
  sumSquares: old.sum_squares,
  count: old.num,
});
