/** Rows of data, the examples that are made of them, and the order in which they come. */
export {
  type ArrayRow,
  idx,
  npy,
  type TokenExample,
  type TokenFileOptions,
  type TokenWindowOptions,
  tokenFile,
  tokenWindows,
} from "./array-files.ts";
export {
  type ArrayInput,
  type ArrayTree,
  type ExampleTree,
  hostArrays,
  isIntegers,
  type Placement,
  placeArrays,
  type ShapedArray,
  type TensorTree,
} from "./arrays.ts";
export {
  type Bookmark,
  Dataset,
  type DatasetSource,
  type ExampleContext,
  type Item,
  interleave,
  isRowError,
  type Pass,
  passOf,
  type Reader,
  type Recipe,
  type RowTransform,
} from "./dataset.ts";
export {
  type Example,
  type ExampleArray,
  type ExampleArrays,
  type ExampleArrayTree,
  type ExampleValue,
  ExampleWriter,
  exampleLayout,
  type LeafLayout,
} from "./example.ts";
export { glyphs, tabular, toyLanguage } from "./generated.ts";
export { type ImageDataset, type ImageExample, type ImageFolderOptions, imageFolder } from "./images.ts";
export { type BatchGroup, Loader, type LoaderOptions } from "./loader.ts";
export type { LoadedBatch } from "./loading/batches.ts";
export { createLoader, DataLoader, type DataLoaderConfig } from "./loading/data-loader.ts";
export { type ParquetOptions, parquet } from "./parquet.ts";
export { datasetFromRecipe, type FromModuleOptions, fromModule } from "./recipe.ts";
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
  type ColumnsOptions,
  columns,
  label,
  numeric,
  oneHot,
  standardize,
  type Transform,
  transformFrom,
} from "./transform.ts";
