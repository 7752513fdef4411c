/**
 * A trained model in a program that knows nothing of its training:
 *
 *     loadModel("runs/iris")
 *       checkpoint   the newest whole one of the run, or the best           openAt
 *       model        from the recipe in its manifest, or given by the caller
 *       params       the component `params` or `ema`, compared with the model
 *       transform    the component `transform`, as it was fitted
 *     predict(rows)
 *       rows -> transform.inputs -> arrays -> batches of 2^n rows -> model -> rows cut off -> transform.decode
 */
import { Checkpoint, CheckpointManager, localStore, openCheckpoint } from "../checkpoint/index.ts";
import {
  checkOptions,
  EspalierError,
  flatten,
  isPlainObject,
  leafPaths,
  node,
  type OptionTable,
  option,
  shown,
  treeLeaves,
  treeMap,
} from "../core/index.ts";
import {
  type ArrayTree,
  type ExampleTree,
  type ExampleValue,
  ExampleWriter,
  type Transform,
  transformFrom,
} from "../data/index.ts";
import {
  compile,
  type DType,
  type EngineChoice,
  type HostArray,
  put,
  read,
  type Shape,
  Spec,
  type Specs,
  spec,
  Tensor,
  type Value,
} from "../engine/index.ts";
import { fromRecipe, type Model, type Params, parameterSpecs, type Recipe } from "../nn/index.ts";
import type { Setting, Settings } from "../trainer/index.ts";
import { withName } from "./examples.ts";
import { anything } from "./options.ts";

/** Options of {@link loadModel}. */
export interface LoadModelOptions<X = Value, O = Value> {
  /** The model, where the checkpoint does not say how to build it: one that holds functions of your own. */
  readonly model?: Model<X, O>;
  /** Of a run directory, the newest checkpoint or the best by what the run kept the best of. Default: "last". */
  readonly which?: "best" | "last";
  /** The parameters, or their moving average where the run had an `emaHook`. Default: "params". */
  readonly params?: "params" | "ema";
  /** The engine that predicts. Default: the best there is. */
  readonly engine?: EngineChoice;
  /** Examples in a call of the model, at most. Default: 256. */
  readonly batchSize?: number;
}

/** One input: a row as the fitted transform takes it, or what the model itself takes. */
export type PredictInput = ExampleValue | Readonly<Record<string, unknown>>;

/** Numbers that a model gave, the first axis counting the inputs; by name where it gives several. */
export type Outputs = ExampleTree<{ readonly data: HostArray; readonly shape: Shape }>;

/** A trained model, ready to predict. `P` is the type of one prediction. */
export interface LoadedModel<P = unknown> {
  readonly model: Model;
  readonly params: Params<Tensor>;
  /** The transform that was fitted in training, where there was one. */
  readonly transform: Transform | undefined;
  readonly checkpoint: Checkpoint;
  /**
   * A prediction for each input: what the transform makes of the model's outputs, a label or a number in its own unit;
   * without a transform the outputs themselves, a typed array.
   */
  predict(inputs: readonly PredictInput[] | ArrayTree): Promise<P[]>;
  /** The prediction for one input. */
  predictOne(input: PredictInput): Promise<P>;
  /** The model's outputs for all inputs, as they are. */
  outputs(inputs: readonly PredictInput[] | ArrayTree): Promise<Outputs>;
}

const kind = "loadModel";
const table = {
  model: anything<Model>("a model, such as nn.mlp({ hidden: [64], out: 3 })"),
  which: option.oneOf(["best", "last"], { default: "last" }),
  params: option.oneOf(["params", "ema"], { default: "params" }),
  engine: anything<EngineChoice>("an engine"),
  batchSize: option.integer({ min: 1, default: 256 }),
} satisfies OptionTable<LoadModelOptions>;

/**
 * Loads the model of a checkpoint, or of the newest or best checkpoint of a run directory. Models of `nn` without
 * functions of your own are built from the checkpoint alone.
 *
 * @example
 * ```ts
 * const iris = await loadModel<string>("runs/iris", { which: "best" });
 * const species = await iris.predictOne({ sepalLength: 5.1, petalLength: 1.4 });
 * ```
 */
export async function loadModel<P = unknown, X = Value, O = Value>(
  from: string | URL | Checkpoint,
  options: LoadModelOptions<X, O> = {},
): Promise<LoadedModel<P>> {
  checkOptions(kind, options, table);
  const { which = "last", params: component = "params", engine, batchSize = 256 } = options;
  const checkpoint = from instanceof Checkpoint ? from : await openAt(from, which);
  const about = aboutOf(checkpoint);
  // The types of inputs and outputs matter to the caller alone.
  const model = (options.model ?? builtFrom(checkpoint, about.model)) as Model<ExampleTree<Value>, unknown>;
  if (!checkpoint.components.includes(component))
    throw new EspalierError("COMPONENT_UNKNOWN", `${checkpoint.path} has no component "${component}"`, {
      fix:
        component === "ema"
          ? "train with emaHook(), or leave params out"
          : "give a checkpoint of supervised training",
    });
  const where = engine === undefined ? {} : { engine };
  const beside = put([0], where);
  const params = (await checkpoint.state(component, () => beside)) as Params<Tensor>;
  const check = (input: Specs<ExampleTree<Value>>): void => checkParams(checkpoint, model, params, input);
  if (about.input) check(about.input);
  const state = checkpoint.components.includes("transform") && (await checkpoint.state("transform"));
  const transform = state ? transformFrom(state) : undefined;

  const program = compile((p: Params, x: ExampleTree<Value>) => model.apply(p, x), {
    engine: beside.device.engine,
    device: beside.device,
    name: "predict",
  });
  let checked = about.input !== undefined;

  /** Outputs in the order of the inputs, some at a time. */
  const run = async (inputs: readonly PredictInput[] | ArrayTree): Promise<readonly OutputChunk[]> => {
    const arrays = await hostTree(inputs, transform);
    const count = lengthOf(arrays);
    const chunks: OutputChunk[] = [];
    for (let at = 0; at < count; at += batchSize) {
      const size = Math.min(batchSize, count - at);
      const x = placed(arrays, about.input, at, size, beside);
      if (!checked) check(treeMap(({ shape, dtype }: Tensor) => spec(shape, dtype), x));
      checked = true;
      const given = program(params, x) as ExampleTree<Tensor>;
      const host = (await read(given)) as ExampleTree<HostArray>;
      chunks.push({
        size,
        outputs: treeMap(
          (data: HostArray, { shape }: Tensor) => cutRows(data, shape, size),
          host,
          given,
        ) as Outputs,
      });
      for (const tensor of [...treeLeaves<Tensor>(x), ...treeLeaves<Tensor>(given)]) tensor.dispose();
    }
    return chunks;
  };

  const predict = async (inputs: readonly PredictInput[] | ArrayTree): Promise<P[]> => {
    if (Array.isArray(inputs) && inputs.length === 0) return [];
    return (await run(inputs)).flatMap(({ outputs, size }) =>
      Array.from({ length: size }, (_, i) => {
        const one = rowOf(outputs, i);
        // The caller says what a prediction is.
        return (transform?.decode && ArrayBuffer.isView(one) ? transform.decode(one as HostArray) : one) as P;
      }),
    );
  };
  return {
    model: model as Model,
    params,
    transform,
    checkpoint,
    predict,
    predictOne: async (input) => (await predict([input]))[0] as P,
    outputs: async (inputs) => joined((await run(inputs)).map(({ outputs }) => outputs)),
  };
}

async function openAt(from: string | URL, which: "best" | "last"): Promise<Checkpoint> {
  const text = String(from);
  const path = text.startsWith("file:") ? node.url.fileURLToPath(text) : text;
  const best =
    which === "best" && (await new CheckpointManager({ store: localStore(node.path.resolve(path)) }).best());
  // A checkpoint itself holds no others: it is what was asked for.
  return best || openCheckpoint(path);
}

/** The part of a manifest that tells how to use its model. */
interface About {
  readonly model: Recipe | undefined;
  readonly input: Specs<ExampleTree<Value>> | undefined;
}

/** The model's recipe and the shapes of one of its inputs, as checkpoints keep them. */
export function aboutModel(model: Model<never, unknown>, input: Specs<ExampleTree<Value>>): Settings {
  const described = (part: unknown): Setting =>
    part instanceof Spec
      ? { shape: part.shape.slice(1), dtype: part.dtype }
      : Object.fromEntries(Object.entries(part as object).map(([name, inner]) => [name, described(inner)]));
  return { input: described(input), ...(model.recipe && { model: model.recipe }) };
}

function aboutOf({ manifest }: Checkpoint): About {
  const about = isPlainObject(manifest.about) ? manifest.about : {};
  const specs = (part: unknown): Specs<ExampleTree<Value>> => {
    const { shape, dtype, ...rest } = part as { readonly shape?: Shape; readonly dtype?: DType };
    if (Array.isArray(shape) && dtype !== undefined) return spec([1, ...shape], dtype);
    return Object.fromEntries(Object.entries(rest).map(([name, inner]) => [name, specs(inner)]));
  };
  return {
    model: isPlainObject(about.model) ? (about.model as Recipe) : undefined,
    input: isPlainObject(about.input) ? specs(about.input) : undefined,
  };
}

function builtFrom({ path }: Checkpoint, recipe: Recipe | undefined): Model {
  if (recipe) return fromRecipe(recipe);
  throw new EspalierError("MODEL_UNKNOWN", `${path} does not say how its model is built`, {
    fix: "give the model: loadModel(path, { model }); models of nn without functions of your own are built by themselves",
  });
}

/** Refuses parameters of another model, naming the first that differs. */
function checkParams(
  { path }: Checkpoint,
  model: Model<ExampleTree<Value>, unknown>,
  params: Params<Tensor>,
  input: Specs<ExampleTree<Value>>,
): void {
  const [wanted, found] = [typesOf(parameterSpecs(model, input)), typesOf(params)];
  for (const name of [...new Set([...wanted.keys(), ...found.keys()])].sort()) {
    const [here, there] = [wanted.get(name), found.get(name)];
    if (here === there) continue;
    throw new EspalierError(
      "CHECKPOINT_MISMATCH",
      `${path} is of another model than this ${model.kind}: ${name} is ${there ?? "not there"} in the checkpoint and ${here ?? "not there"} in the model`,
      { fix: "give the model that was trained, or leave `model` out where the checkpoint can build it" },
    );
  }
}

function typesOf(params: Params<Tensor | Spec>): ReadonlyMap<string, string> {
  const leaves: unknown[] = [];
  const names = leafPaths(flatten(params, leaves));
  return new Map(
    (leaves as (Tensor | Spec)[]).map(({ dtype, shape }, i) => [
      names[i] as string,
      `${dtype}[${shape.join(",")}]`,
    ]),
  );
}

/** Inputs on the host: one array, or several by name, with a row for each input. */
type HostTree = ExampleTree<HostRows>;

class HostRows {
  readonly data: HostArray;
  readonly shape: Shape;
  constructor(data: HostArray, shape: Shape) {
    this.data = data;
    this.shape = shape;
  }
}

async function hostTree(inputs: unknown, transform: Transform | undefined): Promise<HostTree> {
  if (Array.isArray(inputs)) return stacked(inputs, transform);
  if (inputs instanceof Tensor) return new HostRows(await inputs.read(), inputs.shape);
  if (ArrayBuffer.isView(inputs)) return new HostRows(inputs as HostArray, [(inputs as HostArray).length]);
  if (!isPlainObject(inputs))
    throw invalid(`the inputs are ${shown(inputs)}`, "give a list of inputs, or arrays { data, shape }");
  const { data, shape } = inputs as { readonly data?: unknown; readonly shape?: Shape };
  if (Array.isArray(data)) return hostTree(data, undefined);
  if (ArrayBuffer.isView(data)) {
    const numbers = data as HostArray;
    const axes = shape ?? [numbers.length];
    if (axes.length > 0 && axes.reduce((a, b) => a * b, 1) === numbers.length)
      return new HostRows(numbers, axes);
    throw invalid(
      `${numbers.length} numbers do not fill the shape [${axes}]`,
      "give { data, shape } whose first axis counts the inputs",
    );
  }
  const parts = Object.entries(inputs).map(
    async ([name, part]) => [name, await hostTree(part, undefined)] as const,
  );
  return Object.fromEntries(await Promise.all(parts));
}

/** Inputs one by one as arrays; rows go through the transform. */
function stacked(inputs: readonly unknown[], transform: Transform | undefined): HostTree {
  const examples = inputs.map((input, index) => {
    const isRow = transform && isPlainObject(input) && !ArrayBuffer.isView(input.data);
    const x = isRow ? withName(`predict: input ${index}`, () => transform.inputs(input)) : input;
    return { value: { x: x as ExampleValue }, index };
  });
  const [first] = examples;
  if (!first) throw invalid("there are no inputs", "give one at least");
  const writer = new ExampleWriter("predict", first, examples.length);
  examples.forEach((example, i) => {
    writer.write(i, example);
  });
  const rows = (part: unknown): HostTree => {
    const { data, shape, ...rest } = part as { readonly data?: HostArray; readonly shape?: Shape };
    if (data && shape) return new HostRows(data, shape);
    return Object.fromEntries(Object.entries(rest).map(([name, inner]) => [name, rows(inner)]));
  };
  return rows(writer.arrays().x);
}

function lengthOf(arrays: HostTree): number {
  const [first, ...others] = treeLeaves<HostRows>(arrays);
  const count = first?.shape[0] ?? 0;
  const other = others.find(({ shape }) => shape[0] !== count);
  if (count > 0 && !other) return count;
  throw invalid(
    other ? `one array has ${count} inputs and another ${other.shape[0]}` : "there are no inputs",
    "give each array one entry along its first axis for every input",
  );
}

/** Some of the inputs on the device, filled up to a power of two: few sizes, so that few programs are compiled. */
function placed(
  arrays: HostTree,
  input: Specs<ExampleTree<Value>> | undefined,
  at: number,
  size: number,
  { device }: Tensor,
): ExampleTree<Tensor> {
  const rows = 2 ** Math.ceil(Math.log2(size));
  const types = input && leafTypes(input);
  const paths = leafPaths(flatten(arrays, []));
  let leaf = 0;
  return treeMap(({ data, shape }: HostRows): Tensor => {
    const width = data.length / (shape[0] as number);
    const part = zerosLike(data, rows * width);
    part.set(data.subarray(at * width, (at + size) * width));
    // Rows of the last one: what a model makes of zeros may be NaN, and slow.
    for (let i = size; i < rows; i++) part.copyWithin(i * width, (size - 1) * width, size * width);
    const path = paths[leaf++] as string;
    const dtype = types?.get(path);
    if (dtype !== undefined && wholeTypes.includes(dtype))
      checkWhole(path, data, at * width, size * width, width);
    return put(part, {
      shape: [rows, ...shape.slice(1)],
      engine: device.engine,
      device,
      ...(dtype && { dtype }),
    });
  }, arrays) as ExampleTree<Tensor>;
}

const wholeTypes: readonly DType[] = ["i32", "u32", "u8"];

function leafTypes(input: Specs<ExampleTree<Value>>): ReadonlyMap<string, DType> {
  const leaves: unknown[] = [];
  const paths = leafPaths(flatten(input, leaves));
  return new Map((leaves as Spec[]).map(({ dtype }, i) => [paths[i] as string, dtype]));
}

function checkWhole(path: string, data: HostArray, from: number, count: number, width: number): void {
  if (!(data instanceof Float32Array || data instanceof Float64Array)) return;
  for (let i = from; i < from + count; i++)
    if (!Number.isInteger(data[i]))
      throw invalid(
        `input ${Math.floor(i / width)}${path && `, ${path}`} has ${data[i]}, and the model was trained on whole numbers`,
        "give whole numbers: tokens, labels, bytes",
      );
}

function zerosLike(data: HostArray, length: number): HostArray {
  if (data instanceof Float32Array) return new Float32Array(length);
  if (data instanceof Float64Array) return new Float64Array(length);
  if (data instanceof Int32Array) return new Int32Array(length);
  return data instanceof Uint32Array ? new Uint32Array(length) : new Uint8Array(length);
}

interface OutputChunk {
  readonly outputs: Outputs;
  readonly size: number;
}

function cutRows(data: HostArray, shape: Shape, size: number): { data: HostArray; shape: Shape } {
  const width = data.length / Math.max(1, shape[0] ?? 1);
  return { data: data.slice(0, size * width), shape: [size, ...shape.slice(1)] };
}

type Rows = { readonly data: HostArray; readonly shape: Shape };
const isRows = (part: unknown): part is Rows => ArrayBuffer.isView((part as Rows | undefined)?.data);

/** The outputs for one input. */
function rowOf(outputs: Outputs, i: number): unknown {
  if (!isRows(outputs))
    return Object.fromEntries(Object.entries(outputs).map(([name, part]) => [name, rowOf(part, i)]));
  const width = outputs.data.length / (outputs.shape[0] as number);
  return outputs.data.slice(i * width, (i + 1) * width);
}

function joined(parts: readonly Outputs[]): Outputs {
  const [first] = parts as readonly [Outputs];
  if (!isRows(first))
    return Object.fromEntries(
      Object.keys(first).map((name) => [
        name,
        joined(parts.map((part) => (part as Readonly<Record<string, Outputs>>)[name] as Outputs)),
      ]),
    );
  const all = parts as readonly Rows[];
  const data = zerosLike(
    first.data,
    all.reduce((sum, part) => sum + part.data.length, 0),
  );
  let at = 0;
  for (const part of all) {
    data.set(part.data, at);
    at += part.data.length;
  }
  return {
    data,
    shape: [all.reduce((sum, { shape }) => sum + (shape[0] as number), 0), ...first.shape.slice(1)],
  };
}

const invalid = (what: string, fix: string): EspalierError =>
  new EspalierError("DATA_INVALID", `predict: ${what}`, { fix });
