import { EspalierError, isPlainObject, messageOf, shown } from "../core/index.ts";
import type { StateTree } from "../state/index.ts";
import { idx, npy, tokenFile, tokenWindows } from "./array-files.ts";
import { Dataset, interleave, type Recipe, sourceError } from "./dataset.ts";
import type { Example } from "./example.ts";
import { glyphs, tabular } from "./generated.ts";
import { imageFolder } from "./images.ts";
import { parquet } from "./parquet.ts";
import { fromArrays, zip } from "./sources.ts";
import { csv, jsonl, textFile } from "./text-files.ts";
import { transformFrom } from "./transform.ts";

// A dataset in another thread: threads share no functions, so what travels is the recipe, the calls that made it with
// plain values as arguments, and the thread makes them again.
//
//   csv("a.csv").shuffle({ buffer: 100 }).recipe
//     = { kind: "shuffle", args: [{ buffer: 100, seed: 0 }], of: { kind: "csv", args: ["/data/a.csv", {}] } }
//   await datasetFromRecipe(recipe)          the same rows in the same order
//
// Functions of the program (map, filter) end that; a module that exports the whole dataset is the way out: fromModule.

type Maker = (...args: readonly unknown[]) => unknown;
const makers = {
  csv,
  fromArrays,
  fromModule,
  glyphs,
  idx,
  imageFolder,
  interleave,
  jsonl,
  npy,
  parquet,
  tabular,
  textFile,
  tokenFile,
  tokenWindows,
  transformFrom,
  zip,
} as Readonly<Record<string, unknown>> as Readonly<Record<string, Maker>>;

/** Methods of a dataset whose arguments are plain values, datasets or a transform. */
const methods = ["batch", "concat", "inMemory", "select", "shuffle", "skipBad", "take", "transform"];

/** The dataset that a recipe describes: the same rows in the same order as the one that gave it. */
export const datasetFromRecipe = async <T = Example>(recipe: Recipe): Promise<Dataset<T>> => {
  const made = isRecipe(recipe) && (await madeOf(recipe));
  if (made instanceof Dataset) return made as Dataset<T>;
  throw new EspalierError("DATA_INVALID", `${shown(recipe)} is no recipe of a dataset`, {
    fix: "give the recipe of a dataset: data.recipe",
  });
};

const isRecipe = (value: unknown): value is Recipe =>
  isPlainObject(value) &&
  Array.isArray(value.args) &&
  (value.of ? methods.includes(String(value.kind)) : Object.hasOwn(makers, String(value.kind)));

/** Plain values, with what the recipes among them make. */
async function madeOf(value: unknown): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map(madeOf));
  if (isRecipe(value)) {
    const { kind, of, args } = value;
    const given = (await madeOf(args)) as readonly unknown[];
    if (!of) return makers[kind]?.(...given);
    const data = (await madeOf(of)) as Dataset<unknown>;
    return (data[kind as keyof Dataset<unknown>] as Maker).apply(data, [...given]);
  }
  if (!isPlainObject(value)) return value;
  const parts = Object.entries(value).map(async ([name, part]) => [name, await madeOf(part)] as const);
  return Object.fromEntries(await Promise.all(parts));
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
    throw new EspalierError("DATA_SOURCE_FAILED", `${url} could not be loaded: ${messageOf(cause)}`, {
      fix: "make sure that this Node can load the module and all that it imports",
      cause,
    });
  }
  // CommonJS exports may be found under `default` only.
  const found = exports[name] ?? (exports.default as Readonly<Record<string, unknown>> | undefined)?.[name];
  let made: unknown = found;
  try {
    if (typeof found === "function") made = await found(options);
  } catch (cause) {
    if (cause instanceof EspalierError) throw cause;
    throw sourceError(`${url}: its export "${name}" failed`, undefined, cause);
  }
  if (!(made instanceof Dataset))
    throw new EspalierError("DATA_INVALID", `${url}: its export "${name}" gives ${shown(made)}, no dataset`, {
      fix: `export a Dataset, or a function that makes one; it exports ${Object.keys(exports).join(", ") || "nothing"}`,
    });
  const data = made as Dataset<T>;
  const { length } = data;
  return new Dataset<T>({
    name: data.name,
    length,
    recipe: { kind: "fromModule", args: [url, { name, ...(options !== undefined && { options }) }] },
    open: (pass, from) => data.open(pass, from),
    rowOf: (index, pass) => data.rowOf(index, pass),
    gather: (rows, pass, memory) => data.gather(rows, pass, memory),
    ...(length !== undefined && { get: (index, pass) => data.get(index, pass) }),
  });
}
