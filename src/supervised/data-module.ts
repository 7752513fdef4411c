import { badOption, EspalierError, type Options, option, resolveOptions, shown } from "../core/index.ts";
import {
  createLoader,
  type DataLoader,
  Dataset,
  type Example,
  type ExampleValue,
  type Transform,
} from "../data/index.ts";
import { anything } from "./options.ts";
import { type TaskSpec, type TaskSpecOptions, taskSpec } from "./strategies.ts";

/** Rows in parts that were made already. */
export interface DataParts<T> {
  readonly train: Dataset<T>;
  readonly validation?: Dataset<T>;
  readonly test?: Dataset<T>;
}

const table = {
  data: anything<Dataset<unknown> | DataParts<unknown>>("a dataset of rows, or { train, validation, test }"),
  /** The shares of the parts. Default: { train: 0.8, validation: 0.2 }. */
  split: anything<{ readonly train: number; readonly validation?: number; readonly test?: number }>(
    "shares, such as { train: 0.8, validation: 0.2 }",
  ),
  stratify: anything<ArrayLike<string | number>>("the class of a row, (row) => row.label"),
  /** Examples in a batch, as the trainer's. Default: 32. */
  batchSize: option.integer({ min: 1, default: 32 }),
  transform: anything<Transform<never>>("a transform, such as columns({ x, y })"),
  /** Worker threads that make batches. Default: 0. */
  workers: option.integer({ min: 0, max: 256, default: 0 }),
  /** An example that cannot be used: an error, or left out, as `createLoader` does. Default: "error". */
  onBadExample: option.oneOf(["error", "skip"], { default: "error" }),
  /** The seed of parts, orders and of the examples' random numbers. Default: 0. */
  seed: option.integer({ min: 0, default: 0 }),
};

/** Options of {@link dataModule}. */
export interface DataModuleOptions<T> extends Omit<Options<typeof table>, "data" | "stratify" | "transform"> {
  /** All rows, which are split; or the parts. */
  readonly data: Dataset<T> | DataParts<T>;
  /** The class of a row, so that each part has its share of every class. */
  readonly stratify?: ((row: T) => string | number) | ArrayLike<string | number>;
  /** Turns rows into examples; fitted to the training rows. Default: by the fields that the task names. */
  readonly transform?: Transform<T>;
}

/** Loaders of the parts of a data set, for `train({ trainData, valData })` and `test({ data })`. */
export interface DataModule {
  readonly spec: TaskSpec;
  readonly train: DataLoader;
  readonly validation?: DataLoader;
  readonly test?: DataLoader;
  /** Ends the threads of all loaders. */
  close(): Promise<void>;
}

/**
 * Splits rows into parts, makes examples of them as the task says, and loads them in batches.
 *
 * @example
 * ```ts
 * const spec = taskSpec({ modality: "tabular", inputs: ["area", "rooms"], targets: "price", strategy: "regression" });
 * const data = await dataModule(spec, { data: await csv("houses.csv").inMemory(), batchSize: 64 });
 * const trainer = supervisedTrainer({ model, taskSpec: spec, trainingConfig: { batchSize: 64 } });
 * await trainer.train({ trainData: data.train, valData: data.validation });
 * ```
 */
export async function dataModule<T>(
  spec: TaskSpecOptions | TaskSpec,
  options: DataModuleOptions<T>,
): Promise<DataModule> {
  const { batchSize, workers, onBadExample, seed } = resolveOptions("dataModule", options, table);
  const checked = taskSpec(spec);
  const parts = partsOf(options, seed);
  const { transform } = options;
  const skips = onBadExample === "skip";
  if (transform && !transform.fitted) await transform.fit(skips ? parts.train.skipBad() : parts.train);
  const loaderOf = (rows: Dataset<T>, train: boolean): DataLoader => {
    const data = transform ? rows.transform(transform) : examplesOf(checked, rows);
    const order = data.length === undefined ? {} : { shuffle: train };
    return createLoader(data, { batchSize, workers, onBadExample, seed, ...order });
  };
  const { train, validation, test } = parts;
  const loaders = {
    train: loaderOf(train, true),
    ...(validation && { validation: loaderOf(validation, false) }),
    ...(test && { test: loaderOf(test, false) }),
  };
  return {
    spec: checked,
    ...loaders,
    close: async () => {
      for (const loader of Object.values(loaders)) await loader.close();
    },
  };
}

function partsOf<T>({ data, split, stratify }: DataModuleOptions<T>, seed: number): DataParts<T> {
  if (data instanceof Dataset) {
    const shares = split ?? { train: 0.8, validation: 0.2 };
    const wrong = Object.keys(shares).find((name) => !["train", "validation", "test"].includes(name));
    if (wrong !== undefined || !("train" in shares))
      throw badOption("dataModule", `split is ${shown(shares)}`, "give shares of train, validation and test");
    return data.split({ ...shares }, { seed, stratify }) as {
      readonly [name: string]: Dataset<T>;
    } & DataParts<T>;
  }
  if (!(data?.train instanceof Dataset))
    throw badOption(
      "dataModule",
      "data is no dataset",
      "give a dataset of rows, or { train, validation, test }",
    );
  if (split === undefined && stratify === undefined) return data;
  throw badOption("dataModule", "the data is split already", "leave split and stratify out");
}

/** Examples of rows by the fields that the task names. Without names rows are examples. */
function examplesOf<T>({ inputs, targets }: TaskSpec, rows: Dataset<T>): Dataset<Example> {
  // What a row has in its fields is checked when it is put into a batch.
  if (inputs === undefined && targets === undefined) return rows as Dataset<unknown> as Dataset<Example>;
  const field = (row: T, name: string): ExampleValue => {
    const value = (row as Readonly<Record<string, ExampleValue | undefined>>)[name];
    if (value !== undefined) return value;
    throw new EspalierError("COLUMN_UNKNOWN", `it has no field "${name}"`, {
      fix: `a row has ${Object.keys(row as object).join(", ")}; name those in the task's inputs and targets`,
    });
  };
  const names = inputs ?? ["x"];
  return rows.map((row) => {
    const values = names.map((name) => [name, field(row, name)] as const);
    // Numbers stand side by side; a single field is the input itself, and others keep their names.
    const x = values.every(([, value]) => typeof value === "number")
      ? Float32Array.from(values, ([, value]) => value as number)
      : values.length === 1
        ? (values[0]?.[1] as ExampleValue)
        : Object.fromEntries(values);
    return { x, y: field(row, targets ?? "y") };
  });
}
