import { EspalierError, shown } from "../core/index.ts";
import type { StateTree } from "../state/index.ts";
import { idx, npy, type TokenFileOptions, tokenFile, tokenWindows } from "./array-files.ts";
import { Dataset, interleave, type Recipe } from "./dataset.ts";
import type { Example, ExampleArrays } from "./example.ts";
import { glyphs, tabular } from "./generated.ts";
import { imageFolder } from "./images.ts";
import { parquet } from "./parquet.ts";
import { fromArrays, zip } from "./sources.ts";
import { csv, jsonl, textFile } from "./text-files.ts";
import { transformFrom } from "./transform.ts";

// A dataset in another thread: threads share no functions, so what travels is the recipe, plain values, and the thread
// makes the dataset again.
//
//   csv("a.csv").shuffle({ buffer: 100 }).recipe
//     = { kind: "shuffle", buffer: 100, seed: 0, of: { kind: "csv", path: "/data/a.csv", options: {} } }
//   await datasetFromRecipe(recipe)          the same rows in the same order
//
// Functions of the program (map, filter) end that; a module that exports the whole dataset is the way out: fromModule.

/** Makes a dataset from each kind of recipe. */
type Maker = (recipe: Recipe) => Promise<Dataset<unknown>>;
const makers: Readonly<Record<string, Maker>> = {
  arrays: async ({ arrays, name }) => fromArrays(arrays as Recipe & ExampleArrays, String(name)),
  memory: async ({ of }) => (await inner(of)).inMemory(),
  select: async ({ of, rows, name }) => (await inner(of)).select(rows as Int32Array, String(name)),
  skipBad: async ({ of }) => (await inner(of)).skipBad(),
  take: async ({ of, n }) => (await inner(of)).take(Number(n)),
  batch: async ({ of, size }) => (await inner(of)).batch(Number(size)),
  shuffle: async ({ of, buffer, seed }) =>
    (await inner(of)).shuffle({ buffer: Number(buffer), seed: Number(seed) }),
  concat: async ({ parts }) => {
    const [first, second] = await Promise.all((parts as readonly Recipe[]).map(inner));
    return (first as Dataset<unknown>).concat(second as Dataset<unknown>);
  },
  interleave: async ({ parts }) => interleave(await Promise.all((parts as readonly Recipe[]).map(inner))),
  zip: async ({ parts }) => {
    const entries = Object.entries(parts as Readonly<Record<string, Recipe>>);
    return zip(
      Object.fromEntries(await Promise.all(entries.map(async ([name, part]) => [name, await inner(part)]))),
    );
  },
  textFile: async ({ path }) => textFile(String(path)),
  jsonl: async ({ path }) => jsonl(String(path)),
  csv: async ({ path, options }) => csv(String(path), options as object),
  parquet: async ({ path, options }) => parquet(String(path), options as object),
  npy: async ({ path }) => npy(String(path)),
  idx: async ({ path }) => idx(String(path)),
  imageFolder: async ({ path, options }) => imageFolder(String(path), options as object),
  tokenFile: async ({ path, options }) => tokenFile(String(path), options as StateTree & TokenFileOptions),
  tokenWindows: async ({ tokens, options }) =>
    tokenWindows(tokens as Int32Array, options as StateTree & TokenFileOptions),
  glyphs: async ({ options }) => glyphs(options as object),
  tabular: async ({ options }) => tabular(options as object),
  transform: async ({ of, state }) =>
    ((await inner(of)) as Dataset<object>).transform(transformFrom(state as StateTree)),
  module: ({ module, name, options }) =>
    fromModule(String(module), { name: String(name), ...(options !== null && { options }) }),
};

/** The dataset that a recipe describes: the same rows in the same order as the one that gave it. */
export const datasetFromRecipe = async <T = Example>(recipe: Recipe): Promise<Dataset<T>> =>
  (await inner(recipe)) as Dataset<T>;

async function inner(recipe: StateTree | undefined): Promise<Dataset<unknown>> {
  const { kind } = (recipe ?? {}) as Partial<Recipe>;
  if (kind !== undefined && Object.hasOwn(makers, kind)) return (makers[kind] as Maker)(recipe as Recipe);
  throw new EspalierError("DATA_INVALID", `${shown(recipe)} is no recipe of a dataset`, {
    fix: "give the recipe of a dataset: data.recipe",
  });
}

/** Options of {@link fromModule}. */
export interface FromModuleOptions {
  /** The export that is the dataset, or makes it. Default: "default". */
  readonly name?: string;
  /** Plain values for the function that makes it. */
  readonly options?: StateTree;
}

/**
 * The dataset that a module exports, or that a function it exports makes: what worker threads need where a dataset has
 * functions of the program in it, as they import the module for themselves.
 *
 * @example
 * ```ts
 * // data.ts: export const images = (options) => imageFolder(options.path).map(augment);
 * const train = await fromModule(new URL("./data.ts", import.meta.url), { name: "images", options: { path: "train" } });
 * ```
 */
export async function fromModule<T = Example>(
  module: URL | string,
  { name = "default", options }: FromModuleOptions = {},
): Promise<Dataset<T>> {
  const url = String(module);
  if (!/^(file|data|node):/.test(url))
    throw new EspalierError("OPTION_INVALID", `fromModule: ${shown(url)} is no URL of a module`, {
      fix: 'give new URL("./data.ts", import.meta.url)',
    });
  let exports: Readonly<Record<string, unknown>>;
  try {
    exports = (await import(/* @vite-ignore */ url)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new EspalierError("DATA_SOURCE_FAILED", `${url} could not be loaded: ${why}`, {
      fix: "make sure that this Node can load the module and all that it imports",
      cause,
    });
  }
  // CommonJS exports may be found under `default` only.
  const found = exports[name] ?? (exports.default as Readonly<Record<string, unknown>> | undefined)?.[name];
  const made: unknown = typeof found === "function" ? await found(options) : found;
  if (!(made instanceof Dataset))
    throw new EspalierError("DATA_INVALID", `${url}: its export "${name}" gives ${shown(made)}, no dataset`, {
      fix: `export a Dataset, or a function that makes one; it exports ${Object.keys(exports).join(", ") || "nothing"}`,
    });
  const data = made as Dataset<T>;
  const { length } = data;
  return new Dataset<T>({
    name: data.name,
    length,
    recipe: { kind: "module", module: url, name, options: options ?? null },
    open: (pass, from) => data.open(pass, from),
    rowOf: (index, pass) => data.rowOf(index, pass),
    gather: (rows, pass) => data.gather(rows, pass),
    ...(length !== undefined && { get: (index, pass) => data.get(index, pass) }),
  });
}
