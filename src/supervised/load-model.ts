/**
 * A trained model in a program that knows nothing of its training:
 *
 *     loadModel("runs/iris")
 *       checkpoint   the newest whole one of the run, or the best           openAt
 *       model        from the recipe in its manifest, or given by the caller
 *       params       the component `params` or `ema`, compared with the model
 *       transform    the component `transform`, as it was fitted; the component `tokenizer`
 *     predict(rows)
 *       rows -> transform.inputs -> batches of 2^n rows -> model -> rows cut off -> transform.decode
 */
import { Checkpoint, CheckpointManager, openCheckpoint, storeAt } from "../checkpoint/index.ts";
import {
  EspalierError,
  emitWarning,
  isPlainObject,
  leavesByPath,
  type Options,
  option,
  resolveOptions,
  shown,
  treeLeaves,
  treeMap,
} from "../core/index.ts";
import {
  type ArrayTree,
  createLoader,
  type Dataset,
  type Example,
  type ExampleArray,
  type ExampleArrayTree,
  type ExampleTree,
  type ExampleValue,
  fromArrays,
  fromIterable,
  type LoadedBatch,
  type Tokenizer,
  type Transform,
  tokenizerFrom,
  transformFrom,
  withName,
} from "../data/index.ts";
import {
  compile,
  type DType,
  type EngineChoice,
  type HostArray,
  isFloat,
  put,
  read,
  type Shape,
  Spec,
  type Specs,
  spec,
  Tensor,
  type Value,
} from "../engine/index.ts";
import { fromRecipe, type Model, type Params, parameterMismatch, type Recipe } from "../nn/index.ts";
import type { Setting, Settings } from "../trainer/index.ts";
import { joined, zipArrays } from "./examples.ts";
import { anything } from "./options.ts";

const kind = "loadModel";
const table = {
  model: anything<Model>("a model, such as nn.mlp({ hidden: [64], out: 3 })"),
  /** Of a run directory, the newest checkpoint or the best by what the run kept the best of. Default: "last". */
  which: option.oneOf(["best", "last"], { default: "last" }),
  /** The parameters, or their moving average where the run had an `emaHook`. Default: "params". */
  params: option.oneOf(["params", "ema"], { default: "params" }),
  /** The engine that predicts. Default: the best there is. */
  engine: anything<EngineChoice>("an engine"),
  /** Examples in a call of the model, at most. Default: 256. */
  batchSize: option.integer({ min: 1, default: 256 }),
};

/** Options of {@link loadModel}. */
export interface LoadModelOptions<X = Value, O = Value> extends Omit<Options<typeof table>, "model"> {
  /** The model, where the checkpoint does not say how to build it: one that holds functions of your own. */
  readonly model?: Model<X, O>;
}

/** One input: a row as the fitted transform takes it, or what the model itself takes. */
export type PredictInput = ExampleValue | Readonly<Record<string, unknown>>;

/** Numbers that a model gave, `{ data, shape }`, the first axis counting the inputs; by name where it gives several. */
export type Outputs = ExampleArrayTree;

/** A trained model, ready to predict. `P` is the type of one prediction. */
export interface LoadedModel<P = unknown> {
  readonly model: Model;
  readonly params: Params<Tensor>;
  /** The transform that was fitted in training, where there was one. */
  readonly transform: Transform | undefined;
  /** The tokenizer that training was given, where there was one. */
  readonly tokenizer: Tokenizer | undefined;
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
  const { which, params: component, engine, batchSize } = resolveOptions(kind, options, table);
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
  const recipe = checkpoint.components.includes("tokenizer") && (await checkpoint.state("tokenizer"));
  const tokenizer = recipe ? await tokenizerFrom(recipe) : undefined;

  const place = { engine: beside.device.engine, device: beside.device };
  const program = compile((p: Params, x: ExampleTree<Value>) => model.apply(p, x), {
    ...place,
    name: "predict",
  });
  let checked = about.input !== undefined;

  const types = leafTypes(about.input);
  /** Rows of the inputs on the device, as many as the next power of two: few sizes, so that few programs are compiled. */
  const placed = (arrays: ExampleArrayTree, from: number, size: number): ExampleTree<Tensor> =>
    zipArrays([arrays], ([{ data, shape }], path) => {
      const width = data.length / (shape[0] as number);
      const dtype = types.get(path)?.dtype;
      const wanted = Math.min(batchSize, 2 ** Math.ceil(Math.log2(size)));
      const rows = { data: data.subarray(from * width, (from + size) * width) };
      // Filled up by the last one: what a model makes of zeros may be NaN, and slow.
      const last = { data: rows.data.subarray((size - 1) * width) };
      const filled = joined([rows, ...new Array<typeof last>(wanted - size).fill(last)]);
      return put(filled, { ...place, ...(dtype && { dtype }), shape: [wanted, ...shape.slice(1)] });
    });

  const computed = async (inputs: readonly PredictInput[] | ArrayTree) => {
    const data = await examplesOf(inputs, transform);
    const count = data.length as number;
    const [all] = await createLoader(data, { batchSize: count, shuffle: false }).peek(1);
    const { x: arrays } = all as LoadedBatch;
    if (about.input) checkInputs(types, arrays);
    const chunks: Outputs[] = [];
    for (let from = 0; from < count; from += batchSize) {
      const size = Math.min(batchSize, count - from);
      const x = placed(arrays, from, size);
      if (!checked) check(treeMap(({ shape, dtype }: Tensor) => spec(shape, dtype), x));
      checked = true;
      const given = program(params, x) as ExampleTree<Tensor>;
      const firstRows = (numbers: HostArray, { shape }: Tensor): ExampleArray => {
        const part = numbers.slice(0, (numbers.length / (shape[0] ?? 1)) * size);
        return { data: part, shape: [size, ...shape.slice(1)] };
      };
      chunks.push(treeMap(firstRows, await read(given), given) as ExampleTree<unknown> as Outputs);
      for (const tensor of treeLeaves<Tensor>([x, given])) tensor.dispose();
    }
    const outputs: Outputs = zipArrays(chunks, (parts) => ({
      data: joined(parts),
      shape: [count, ...parts[0].shape.slice(1)],
    }));
    return { outputs, count };
  };

  const predict = async (inputs: readonly PredictInput[] | ArrayTree): Promise<P[]> => {
    if (Array.isArray(inputs) && inputs.length === 0) return [];
    const { outputs, count } = await computed(inputs);
    return Array.from({ length: count }, (_, i) => {
      const one = zipArrays([outputs], ([{ data }]) =>
        data.slice((data.length / count) * i, (data.length / count) * (i + 1)),
      );
      // The caller says what a prediction is.
      return (transform?.decode && ArrayBuffer.isView(one) ? transform.decode(one as HostArray) : one) as P;
    });
  };
  return {
    model: model as Model,
    params,
    transform,
    tokenizer,
    checkpoint,
    predict,
    predictOne: async (input) => (await predict([input]))[0] as P,
    outputs: async (inputs) => (await computed(inputs)).outputs,
  };
}

async function openAt(from: string | URL, which: "best" | "last"): Promise<Checkpoint> {
  const best = which === "best" && (await new CheckpointManager({ store: storeAt(from) }).best());
  // A checkpoint itself holds no others: it is what was asked for.
  return best || openCheckpoint(from, (text) => emitWarning(text, "CHECKPOINT_DAMAGED"));
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

function builtFrom({ path, manifest }: Checkpoint, recipe: Recipe | undefined): Model {
  if (recipe) return fromRecipe(recipe);
  const task = isPlainObject(manifest.config) ? manifest.config.task : undefined;
  if (isPlainObject(task) && "policy" in task)
    throw new EspalierError("MODEL_UNKNOWN", `${path} holds a policy, which acts in an environment`, {
      fix: "play it with espalier evaluate, or in a program with loadActor of espalier/rl",
    });
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
  const other = parameterMismatch(model, input, params);
  if (!other) return;
  const { name, found, wanted } = other;
  throw new EspalierError(
    "CHECKPOINT_MISMATCH",
    `${path} is of another model than this ${model.kind}: ${name} is ${found} in the checkpoint and ${wanted} in the model`,
    { fix: "give the model that was trained, or leave `model` out where the checkpoint can build it" },
  );
}

type LeafTypes = ReadonlyMap<string, Tensor | Spec>;
const leafTypes = (tree: unknown): LeafTypes => leavesByPath(tree);

/** Inputs as examples without targets. Rows go through the transform. */
async function examplesOf(inputs: unknown, transform?: Transform): Promise<Dataset<Example>> {
  if (typeof inputs !== "object" || inputs === null)
    throw invalid(`it was given ${shown(inputs)}`, "give a list of inputs");
  if (!Array.isArray(inputs)) return fromArrays({ x: await onHost(inputs) }, "predict");
  const examples = inputs.map((input: unknown, index): Example => {
    const isRow = transform && isPlainObject(input) && !ArrayBuffer.isView(input.data);
    const x = isRow ? withName(`predict: input ${index}`, () => transform.inputs(input)) : input;
    return { x: x as ExampleValue };
  });
  if (examples.length === 0) throw invalid("there are no inputs", "give one at least");
  return fromIterable(examples, "predict");
}

/** Arrays, with tensors among them read. */
async function onHost(arrays: unknown): Promise<ArrayTree> {
  if (arrays instanceof Tensor) return { data: await arrays.read(), shape: arrays.shape };
  if (!isPlainObject(arrays) || "data" in arrays) return arrays as ArrayTree;
  const parts = Object.entries(arrays).map(async ([name, part]) => [name, await onHost(part)] as const);
  return Object.fromEntries(await Promise.all(parts));
}

/**
 * Refuses inputs of other names than in training, those with too few axes to be one input each, `[1, 2]` in place of
 * `[[1, 2]]`, and fractions where there were whole numbers.
 */
function checkInputs(trained: LeafTypes, arrays: ExampleArrayTree): void {
  const given = new Map<string, ExampleArray>();
  zipArrays([arrays], ([array], path) => given.set(path, array));
  const text = (types: ReadonlyMap<string, { readonly shape: Shape }>) =>
    [...types].map(([path, { shape }]) => `${path}[${shape.slice(1)}]`).join(", ");
  if (
    given.size !== trained.size ||
    [...trained].some(([path, { shape }]) => (given.get(path)?.shape.length ?? 0) < shape.length)
  )
    throw invalid(
      `an input is ${text(given)}, and in training it was ${text(trained)}`,
      "give a list of such inputs, or one to predictOne; rows by name need a transform in training",
    );
  for (const [path, { data, shape }] of given) {
    const { dtype } = trained.get(path) as Spec;
    if (isFloat(dtype) || !(data instanceof Float32Array || data instanceof Float64Array)) continue;
    const bad = data.findIndex((number) => !Number.isInteger(number));
    if (bad < 0) continue;
    throw invalid(
      `input ${Math.floor((bad * (shape[0] as number)) / data.length)}${path && `, ${path}`} has ${data[bad]}, and the model was trained on whole numbers`,
      "give whole numbers: tokens, labels, bytes",
    );
  }
}

const invalid = (what: string, fix: string): EspalierError =>
  new EspalierError("DATA_INVALID", `predict: ${what}`, { fix });
