import {
  badOption,
  checkOptions,
  EspalierError,
  isPlainObject,
  makeDirectory,
  node,
  numberText,
  type Options,
  option,
  outputPath,
  shown,
  tableLines,
} from "../core/index.ts";
import type { ExampleTree } from "../data/index.ts";
import {
  type CompileOptions,
  compile,
  type Fetch,
  read,
  type Specs,
  spec,
  Tensor,
  Value,
} from "../engine/index.ts";
import { slot } from "../hooks/index.ts";
import type { Counters } from "../schedule/index.ts";
import { latestMetrics, type TrainerHook } from "../trainer/index.ts";
import { type ConfusionMatrix, isSetMetric, type Metrics, type SetMetric } from "./metrics.ts";

// Metrics of a whole set, several together: as parts of the task's programs, and by hand; and their tables.

/** States of metrics of the whole set, by name. */
export type MetricStates = Readonly<Record<string, ExampleTree<Value>>>;

type AnySetMetric = SetMetric<ExampleTree<Value>, unknown, ExampleTree<Value>>;

export type Shapes = () => { readonly outputs: unknown; readonly y: Specs<ExampleTree<Value>> };

interface MetricBatch {
  readonly y: ExampleTree<Value>;
  readonly weight?: Value;
}

/** The metrics of a task that have a state, together. All but `any` is for use inside programs. */
export class SetMetrics {
  readonly any: boolean;
  readonly #metrics: readonly (readonly [string, AnySetMetric])[];
  readonly #shapes: Shapes;

  constructor(metrics: Readonly<Record<string, unknown>>, shapes: Shapes) {
    this.#metrics = Object.entries(metrics).map(([name, metric]) => {
      if (isSetMetric(metric)) return [name, metric as AnySetMetric];
      throw new EspalierError("METRIC_INVALID", `the metric "${name}" is ${shown(metric)}, without a state`, {
        fix: "give a metric such as f1(), or one of your own: { init, add, value }; a task takes functions of outputs and targets too",
      });
    });
    this.#shapes = shapes;
    this.any = this.#metrics.length > 0;
  }

  /** States of a set of so many examples, before the first; undefined where the number is not known. */
  start(examples: number | undefined): MetricStates {
    if (!this.any) return {};
    const { outputs, y } = this.#shapes();
    const set = { examples, outputs, y } as Parameters<AnySetMetric["init"]>[0];
    return this.#each((metric) => metric.init(set));
  }

  add(states: MetricStates, outputs: unknown, { y, weight }: MetricBatch): MetricStates {
    return this.#each((metric, name) => metric.add(states[name] as ExampleTree<Value>, outputs, y, weight));
  }

  /** The states that are sums, so that those of parts of a set can be added. */
  sums(states: MetricStates): MetricStates {
    const sums = this.#metrics.filter(([, metric]) => metric.sums);
    return Object.fromEntries(sums.map(([name]) => [name, states[name] as ExampleTree<Value>]));
  }

  /** Names of metrics whose states are no sums. */
  get others(): readonly string[] {
    return this.#metrics.flatMap(([name, metric]) => (metric.sums ? [] : [name]));
  }

  /** Of those metrics that have a state here: numbers, and tables. */
  values(states: MetricStates) {
    const numbers: Record<string, Value> = {};
    const tables: Record<string, Value> = {};
    for (const [name, metric] of this.#metrics) {
      if (!(name in states)) continue;
      const given: unknown = metric.value(states[name] as ExampleTree<Value>);
      const named = given instanceof Value ? { [name]: given } : inside(name, given);
      for (const [full, value] of Object.entries(named)) {
        if (value.ndim === 0) numbers[full] = value.astype("f32");
        else if (value.ndim === 2) tables[full] = value.astype("f32");
        else throw notOneNumber(full, value);
      }
    }
    return { numbers, tables };
  }

  #each(make: (metric: AnySetMetric, name: string) => ExampleTree<Value>): MetricStates {
    return Object.fromEntries(this.#metrics.map(([name, metric]) => [name, make(metric, name)]));
  }
}

function inside(name: string, given: unknown): Readonly<Record<string, Value>> {
  if (!isPlainObject(given) || !Object.values(given).every((value) => value instanceof Value))
    throw notValue(name, given);
  const parts = Object.entries(given as Readonly<Record<string, Value>>);
  return Object.fromEntries(parts.map(([part, value]) => [`${name}.${part}`, value]));
}

/** Results of a validation. Tables are rows of numbers. */
export interface Validated {
  readonly metrics: Readonly<Record<string, number>>;
  readonly tables: Readonly<Record<string, readonly (readonly number[])[]>>;
}

/** Options of {@link MetricsTracker}. */
export interface MetricsTrackerOptions extends Pick<CompileOptions, "engine" | "device"> {
  /** The number of examples, for metrics that need it to be exact. Default: not known. */
  readonly examples?: number | undefined;
}

/**
 * Metrics of a set in a loop of one's own, batch by batch on the device; a task's validation keeps its own by one.
 *
 * @example
 * ```ts
 * const tracker = new MetricsTracker({ accuracy, f1: f1() });
 * for (const { x, y } of batches) tracker.add(predict(params, x), y);
 * const { metrics } = await tracker.values(); // { accuracy: 0.93, f1: 0.91 }
 * ```
 */
export class MetricsTracker {
  /** States of the metrics so far. */
  states: Fetch<MetricStates> | undefined;
  readonly #metrics: SetMetrics;
  readonly #examples: number | undefined;
  readonly #programs: ReturnType<typeof trackerPrograms>;
  #seen = 0;
  #shapes: ReturnType<Shapes> | undefined;

  constructor(
    metrics: Metrics | SetMetrics,
    { examples, ...where }: MetricsTrackerOptions & CompileOptions = {},
  ) {
    this.#metrics =
      metrics instanceof SetMetrics
        ? metrics
        : new SetMetrics(metrics, () => this.#shapes as ReturnType<Shapes>);
    this.#examples = examples;
    this.#programs = trackerPrograms(this.#metrics, examples, where);
  }

  /** Begins a new set. */
  reset(): void {
    this.states = undefined;
    this.#seen = 0;
  }

  /** States before the first batch. */
  start(): Fetch<MetricStates> {
    return this.#metrics.any ? this.#programs.start() : {};
  }

  /** Adds a batch. */
  add(outputs: Tensor, y: Tensor, weight?: Tensor): void {
    if (!(outputs instanceof Tensor && y instanceof Tensor))
      throw badOption(
        "MetricsTracker",
        `it was given ${shown(outputs)} and ${shown(y)}`,
        "give tensors: put(labels)",
      );
    this.#seen += y.shape[0] ?? 1;
    if (this.#seen > (this.#examples ?? Number.POSITIVE_INFINITY))
      throw new EspalierError(
        "DATA_LENGTH",
        `MetricsTracker: ${this.#seen} examples were added, and examples is ${this.#examples}`,
        { fix: "give the number of all examples, begin a new set with reset(), or leave examples out" },
      );
    this.#shapes ??= { outputs: spec(outputs.shape, outputs.dtype), y: spec(y.shape, y.dtype) };
    const batch = { y, ...(weight && { weight }) };
    this.states = this.#programs.add(this.states ?? this.start(), outputs, batch);
  }

  /** The metrics of all batches so far. */
  async values(): Promise<Validated> {
    if (!this.states || !this.#metrics.any) return { metrics: {}, tables: {} };
    const { numbers, tables } = this.#programs.end(this.states);
    const [values, cells] = await Promise.all([read(numbers), read(tables)]);
    const metrics = Object.entries(values).map(([name, [value]]) => [name, Number(value)]);
    const rows = Object.entries(cells).map(([name, all]) => [name, rowsOf([...all], tables[name] as Tensor)]);
    return { metrics: Object.fromEntries(metrics), tables: Object.fromEntries(rows) };
  }
}

const trackerPrograms = (metrics: SetMetrics, examples: number | undefined, where: CompileOptions) => ({
  start: compile(() => metrics.start(examples), { ...where, name: "the metrics' states" }),
  add: compile(
    (states: MetricStates, outputs: Value, batch: MetricBatch) => metrics.add(states, outputs, batch),
    { ...where, name: "the metrics' sums" },
  ),
  end: compile((states: MetricStates) => metrics.values(states), { ...where, name: "the metrics' values" }),
});

const rowsOf = (numbers: readonly number[], { shape }: Tensor): readonly (readonly number[])[] => {
  const [rows = 0, columns = 0] = shape;
  return Array.from({ length: rows }, (_, i) => numbers.slice(i * columns, (i + 1) * columns));
};

export const notValue = (name: string, given: unknown): EspalierError =>
  new EspalierError("METRIC_INVALID", `the metric "${name}" gave ${shown(given)}, which is no value`, {
    fix: "compute it from the outputs and the targets, such as np.mean(...); a constant is np.full([], 2)",
  });

export const notOneNumber = (name: string, given: Value): EspalierError =>
  new EspalierError(
    "METRIC_INVALID",
    `the metric "${name}" gave ${given.type.text}, which is not one number`,
    { fix: "give the mean over the batch's examples, np.mean(...), or several metrics of one number each" },
  );

// --- Tables --------------------------------------------------------------------------------------------------------
// Metrics that are tables (the confusion matrix) do not fit a log of numbers. Validation leaves them with the task's
// own hook, which hands them on in a slot; a second hook draws and files them.

/** Tables of a validation by metric, and the counters they belong to. */
export type ValidationTables = {
  readonly tables: Readonly<Record<string, ValidationTable>>;
  readonly counters: Counters;
};

/** Rows are what was, columns what it was taken for. */
export type ValidationTable = {
  readonly rows: readonly (readonly number[])[];
  readonly names: readonly string[];
};

/** The newest validation's tables. Not part of the run's state: the next validation makes them again. */
export const validationTables = slot<ValidationTables>("validation.tables", { saved: false });

/** True for a metric whose values are tables with names of classes. */
export const isTable = (metric: unknown): metric is ConfusionMatrix =>
  isSetMetric(metric) && "names" in metric;

/** The newest tables of a task's validations, and the hook that puts them into the slot, where a metric may give some. */
export function tableProvider(metrics: Readonly<Record<string, unknown>>) {
  const provider: {
    newest?: Pick<Validated, "tables"> & Pick<ValidationTables, "counters">;
    readonly hooks: TrainerHook[];
  } = { hooks: [] };
  const provide: TrainerHook = {
    name: "validationTables",
    provides: [validationTables],
    onValidationEnd: ({ slots }) => {
      if (!provider.newest) return;
      const { tables, counters } = provider.newest;
      const named = Object.entries(tables).map(([name, rows]) => {
        const metric = metrics[name];
        return [name, { rows, names: (isTable(metric) && metric.names) || rows.map((_, i) => String(i)) }];
      });
      slots.set(validationTables, { tables: Object.fromEntries(named), counters });
    },
  };
  // Accuracy, a function too, gives none.
  const any = Object.values(metrics).some((metric) => typeof metric === "object" && isSetMetric(metric));
  if (any) provider.hooks.push(provide);
  return provider;
}

const hookTable = {
  /** Files each validation's table in `tables/` of this directory. Default: none are filed. */
  directory: option.text({}),
  /** Draws the last one at the end of the run; false draws none. Default: `process.stdout`. */
  stream: option.made<{ write(text: string): unknown } | false>(
    "a stream such as process.stderr, or false",
    (value) => value === false || typeof value === "object",
    {},
  ),
};

/** Options of {@link confusionMatrixHook}. */
export interface ConfusionMatrixHookOptions extends Options<typeof hookTable> {}

/**
 * Draws confusion matrices at the end of a run, and files each validation's as
 * `tables/<metric>-update-000120.json`: `{ names, rows, counters }`.
 *
 * @example
 * ```ts
 * hooks: [confusionMatrixHook({ directory: "runs/digits" })],
 * ```
 */
export function confusionMatrixHook(options: ConfusionMatrixHookOptions = {}): TrainerHook {
  checkOptions("confusionMatrixHook", options, hookTable);
  const directory = options.directory && outputPath(options.directory);
  const { stream = globalThis.process?.stdout ?? false } = options;
  let newest: ValidationTables | undefined;
  return {
    name: "confusionMatrix",
    // After the hook that writes metrics, so that it does not draw into its lines.
    wants: [validationTables, latestMetrics],
    onValidationEnd: ({ slots }) => {
      newest = slots.get(validationTables) ?? newest;
      if (!newest || directory === undefined) return;
      const { seconds: _, ...counters } = newest.counters;
      const folder = node.path.join(directory, "tables");
      makeDirectory(folder);
      for (const [name, { names, rows }] of Object.entries(newest.tables)) {
        const file = `${name}-update-${String(counters.updates).padStart(6, "0")}.json`;
        node.fs.writeFileSync(node.path.join(folder, file), `${JSON.stringify({ names, rows, counters })}\n`);
      }
    },
    onTrainingEnd: () => {
      if (!newest || stream === false) return;
      for (const [name, found] of Object.entries(newest.tables))
        stream.write(`${name} after ${newest.counters.updates} updates\n${drawn(found).join("\n")}\n`);
    },
  };
}

/** A table as lines: classes down, what they were taken for across. */
function drawn({ names, rows }: ValidationTable): readonly string[] {
  const cells = rows.map((row, i) => [names[i] ?? String(i), ...row.map((count) => numberText(count))]);
  return tableLines([["is \\ taken for", ...names], ...cells], { right: names.map((_, i) => i + 1) });
}
