import { EspalierError, isPlainObject, messageOf, node, shown } from "../../core/index.ts";
import { type Device, type DType, type EngineChoice, isFloat, put, Tensor } from "../../engine/index.ts";
import type { Params } from "../../nn/index.ts";
import { placed } from "../json.ts";
import { nodeFileSystem, readExactly, trying } from "../store/file-system.ts";
import { encodeHeader, nameOf } from "./header.ts";
import { type HostTensor, type ReadableBytes, readHeader, readTensor, toFileBytes } from "./tensors.ts";

/**
 * Writes parameters as a safetensors file, each under its path: `hidden0.w`. The file appears under its name only when
 * it is whole. Python reads it with `safetensors.numpy.load_file`.
 *
 * @example
 * ```ts
 * await saveWeights(task.params, "model.safetensors");
 * ```
 */
export async function saveWeights(
  params: Params<Tensor>,
  file: string,
  metadata: Readonly<Record<string, string>> = {},
): Promise<void> {
  const tensors = [...byName(params)];
  const plans = tensors.map(([name, { dtype, shape }]) => ({ name, dtype: nameOf(dtype), shape }));
  const temporary = `${file}.${process.pid}.part`;
  const { open, rename, rm } = node.fs.promises;
  try {
    const handle = await open(temporary, "w");
    try {
      await handle.writeFile(encodeHeader(plans, metadata).bytes);
      for (const [, tensor] of tensors)
        await handle.writeFile(toFileBytes(await tensor.read(), tensor.dtype));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** The tensors of a tree by their paths. */
function* byName(tree: unknown, above = ""): Generator<readonly [string, Tensor]> {
  if (!isPlainObject(tree))
    throw invalid(
      `"${above}" is ${shown(tree)}`,
      "give parameters, as a model's init or a task has them: tensors by name",
    );
  for (const [key, part] of Object.entries(tree)) {
    if (!isStep(key)) throw invalid(`"${key}" cannot be a name`, "give names without dots");
    const name = above === "" ? key : `${above}.${key}`;
    if (part instanceof Tensor) yield [name, part];
    else yield* byName(part, name);
  }
}

const isStep = (name: string): boolean => name !== "" && name !== "__proto__" && !name.includes(".");

/** Options of {@link loadWeights}. */
export interface LoadWeightsOptions {
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
  /** The element type of floats. Default: that of the file. */
  readonly dtype?: "f32" | "f16" | "bf16";
}

/**
 * Reads a safetensors file as parameters: dots in names are levels of the tree. Files of other systems read too, as
 * does the file of a component in a checkpoint.
 *
 * @example
 * ```ts
 * const params = await loadWeights("model.safetensors");
 * const predict = compile((p: nn.Params, x: Value) => model.apply(p, x));
 * ```
 */
export async function loadWeights(file: string, options: LoadWeightsOptions = {}): Promise<Params<Tensor>> {
  const { dtype, ...where } = options;
  return withTensors(file, async (names, tensor) => {
    checkNames(names);
    const tree: Record<string, unknown> = {};
    for (const name of names) {
      const found = await tensor(name);
      const type: DType = isFloat(found.dtype) ? (dtype ?? found.dtype) : found.dtype;
      setAt(tree, name, put(found.data, { shape: found.shape, dtype: type, ...where }));
    }
    return tree as Params<Tensor>;
  });
}

/** Puts a leaf into a tree: dots in its name are levels. */
export function setAt(tree: Record<string, unknown>, name: string, leaf: Tensor): void {
  const steps = name.split(".");
  const parent = steps.slice(0, -1).reduce<Record<string, unknown>>((at, step) => {
    at[step] ??= {};
    return at[step] as Record<string, unknown>;
  }, tree);
  parent[steps.at(-1) as string] = leaf;
}

/** Opens a safetensors file for as long as `use` takes: the names in it, and each tensor on request. */
export async function withTensors<T>(
  path: string,
  use: (names: readonly string[], tensor: (name: string) => Promise<HostTensor>) => Promise<T>,
): Promise<T> {
  const file = await nodeFileSystem.open(path).catch((cause: unknown) => {
    throw new EspalierError("FILE_MISSING", `${path} cannot be opened: ${messageOf(cause)}`, {
      fix: "give the path of a safetensors file; checkpoints of runs are loaded by loadModel of espalier/supervised",
      cause,
    });
  });
  try {
    const bytes: ReadableBytes = {
      size: file.size,
      read: (from, length) => trying("reading", path, () => readExactly(file, from, length)),
    };
    const header = await readHeader(bytes);
    return await use([...header.tensors.keys()], (name) => readTensor(bytes, header, name));
  } catch (error) {
    throw error instanceof EspalierError && !error.message.includes(path) ? placed(path, error) : error;
  } finally {
    await file.close();
  }
}

/** Refuses names that make no tree: one that is empty somewhere, or both a tensor and a level of others. */
function checkNames(names: readonly string[]): void {
  const all = new Set(names);
  for (const name of names) {
    const steps = name.split(".");
    if (!steps.every(isStep)) throw invalid(`"${name}" is no path of names`, "rename it");
    const above = steps.slice(1).map((_, i) => steps.slice(0, i + 1).join("."));
    const both = above.find((path) => all.has(path));
    if (both !== undefined)
      throw invalid(`"${both}" is a tensor, and "${name}" lies below it`, "rename one of the two");
  }
}

const invalid = (what: string, fix: string): EspalierError =>
  new EspalierError("WEIGHTS_INVALID", `weights by name: ${what}`, { fix });
