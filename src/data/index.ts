/** Rows of data, the examples that are made of them, and the order in which they come. */
export * from "./array-files.ts";
export * from "./arrays.ts";
export {
  type Bookmark,
  Dataset,
  type DatasetSource,
  type ExampleContext,
  interleave,
  type Pass,
  passOf,
  type Reader,
  type Recipe,
} from "./dataset.ts";
export * from "./example.ts";
export * from "./generated.ts";
export * from "./images.ts";
export { type BatchGroup, Loader, type LoaderOptions } from "./loader.ts";
export type { LoadedBatch } from "./loading/batches.ts";
export * from "./loading/data-loader.ts";
export * from "./parquet.ts";
export * from "./recipe.ts";
export * from "./sources.ts";
export { type CsvOptions, csv, jsonl, type Row, textFile } from "./text-files.ts";
export * from "./tokenizers.ts";
export * from "./transform.ts";
