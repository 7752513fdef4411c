/** Rows of data, the examples that are made of them, and the order in which they come. */
export { type ArrayRow, idx, npy, tokenFile, tokenWindows } from "./array-files.ts";
export {
  type ArrayInput,
  type ArrayTree,
  type ExampleTree,
  hostNumbers,
  isIntegers,
  type Placement,
  placeArrays,
  type ShapedArray,
  type TensorTree,
  withName,
} from "./arrays.ts";
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
export {
  type Example,
  type ExampleArray,
  type ExampleArrays,
  type ExampleArrayTree,
  type ExampleValue,
  ExampleWriter,
} from "./example.ts";
export { glyphs, tabular, toyLanguage } from "./generated.ts";
export { type ImageExample, type ImageFolderOptions, imageFolder } from "./images.ts";
export { type BatchGroup, Loader, type LoaderOptions } from "./loader.ts";
export type { LoadedBatch } from "./loading/batches.ts";
export { createLoader, DataLoader, type DataLoaderConfig } from "./loading/data-loader.ts";
export { type ParquetOptions, parquet } from "./parquet.ts";
export { datasetFromRecipe, fromModule } from "./recipe.ts";
export { fromArrays, fromAsyncIterable, fromIterable, zip } from "./sources.ts";
export { type CsvOptions, csv, jsonl, type Row, textFile } from "./text-files.ts";
export {
  byteTokenizer,
  characterTokenizer,
  type Tokenizer,
  tokenizerFrom,
  tokenizerFromFile,
  writeTokens,
} from "./tokenizers.ts";
export {
  type ColumnPart,
  columns,
  label,
  numeric,
  oneHot,
  standardize,
  type Transform,
  transformFrom,
} from "./transform.ts";
