import { badOption, checkNames, EspalierError, shown } from "../core/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import { type Dataset, emptyError, sourceError } from "./dataset.ts";
import type { Example, ExampleValue } from "./example.ts";
import { inOrder } from "./split.ts";
import { unknownColumn } from "./text-files.ts";

// From rows of a table to examples, and from outputs of the model back:
//
//   columns({ x: [standardize("age"), oneHot("city")], y: label("species") })
//     fit(training rows)      age: mean 40, std 10    city: [Oslo, Rome]    species: [cat, dog]
//     apply(row)              { age: 50, city: "Rome", species: "dog" }  ->  { x: [1, 0, 1], y: 1 }
//     decode(outputs)         [0.2, 3.1]  ->  "dog"
//
// What it learned is its state, plain values from which `transformFrom` makes it again in another program.

/** Turns rows into examples. What it learned from the training rows is its state. */
export interface Transform<T = object> extends Stateful {
  readonly fitted: boolean;
  /** Learns from training rows, and forgets what it learned before. Rows of `skipBad()` that it cannot use are left out. */
  fit(rows: Dataset<T>): Promise<void>;
  /** Inputs and targets of a row. */
  apply(row: T): Example;
  /** The inputs of a row, which may lack the targets. */
  inputs(row: T): ExampleValue;
  /** What the outputs of the model for one row say: a label, or a number in its own unit. */
  decode?(outputs: ArrayLike<number>): unknown;
  getState(): StateTree;
}

type Category = string | number | boolean;

/** Columns and what becomes of them. */
export interface ColumnPart {
  readonly kind: "numeric" | "standardize" | "oneHot" | "label";
  readonly columns: readonly string[];
  /** Of each column, where they are standardized. */
  readonly means?: readonly number[];
  readonly deviations?: readonly number[];
  /** The values of each column, sorted. */
  readonly categories?: readonly (readonly Category[])[];
}

function part(kind: ColumnPart["kind"], columns: readonly unknown[]): ColumnPart {
  const names = columns.filter((name): name is string => typeof name === "string" && name !== "");
  if (names.length === columns.length && names.length > 0) return { kind, columns: names };
  throw badOption(kind, `its columns are ${shown(columns)}`, `give their names: ${kind}("age")`);
}

/** Numbers as they are; true is 1. */
export const numeric = (...columns: readonly [string, ...string[]]): ColumnPart => part("numeric", columns);

/** Numbers with mean 0 and standard deviation 1 among the training rows. */
export const standardize = (...columns: readonly [string, ...string[]]): ColumnPart =>
  part("standardize", columns);

/** For each value that a column has among the training rows a number, which is 1 for the row's value and 0 for others. */
export const oneHot = (...columns: readonly [string, ...string[]]): ColumnPart => part("oneHot", columns);

/** The number of a class, from 0, in the order of the sorted labels of the training rows. */
export const label = (column: string): ColumnPart => part("label", [column]);

/** Options of {@link columns}. */
export interface ColumnsOptions {
  /** The inputs, side by side. */
  readonly x: readonly ColumnPart[];
  /** The target: a label, or numbers. */
  readonly y?: ColumnPart | undefined;
}

/**
 * Inputs and targets from columns of rows. It is fitted on training rows, by `fit` or by the trainer that it is given to.
 *
 * @example
 * ```ts
 * const transform = columns({ x: [standardize("age", "income"), oneHot("city")], y: label("bought") });
 * await transform.fit(train);
 * const examples = train.transform(transform);
 * ```
 */
export function columns(options: ColumnsOptions): ColumnsTransform {
  checkNames("columns", options, ["x", "y"]);
  const { x, y } = options;
  const fix = 'give columns({ x: [standardize("age"), oneHot("city")], y: label("species") })';
  if (!Array.isArray(x) || x.length === 0 || !partsOf(options).every(isPart))
    throw badOption("columns", `x is ${shown(x)} and y ${shown(y)}`, fix);
  if (x.some(({ kind }) => kind === "label") || y?.kind === "oneHot")
    throw badOption("columns", "a label is no input, and a target is not one-hot", fix);
  return new ColumnsTransform(options);
}

const partsOf = ({ x, y }: ColumnsOptions): readonly ColumnPart[] => (y ? [...x, y] : x);

const isPart = (value: unknown): value is ColumnPart =>
  ["numeric", "standardize", "oneHot", "label"].includes((value as ColumnPart | undefined)?.kind ?? "") &&
  Array.isArray((value as ColumnPart).columns);

/** The transform of {@link columns}. */
export class ColumnsTransform implements Transform {
  #parts: ColumnsOptions;
  constructor(parts: ColumnsOptions) {
    this.#parts = parts;
  }

  get fitted(): boolean {
    return partsOf(this.#parts).every(isFitted);
  }

  /** The labels by the number of their class, once it is fitted, where the target is a label. */
  get labels(): readonly Category[] | undefined {
    return this.#parts.y?.kind === "label" ? this.#parts.y.categories?.[0] : undefined;
  }

  async fit(rows: Dataset<object>): Promise<void> {
    const learning = partsOf(this.#parts).map((one) => learner(one, rows));
    let any = false;
    // By map, so that errors name the row. A row that is wrong in one column counts in none.
    const values = rows.map((row) => learning.map((one) => one.read(row)));
    for await (const row of rows.skips ? values.skipBad() : values) {
      learning.forEach((one, i) => one.add(row[i] as readonly Category[]));
      any = true;
    }
    if (!any) throw emptyError(rows.name);
    const fitted = learning.map((one) => one.end());
    const { length } = this.#parts.x;
    this.#parts = { x: fitted.slice(0, length), y: fitted[length] };
  }

  apply(row: object): Example {
    const { y } = this.#parts;
    const x = this.inputs(row);
    if (!y) return { x };
    const values = numbersOf(y, row);
    if (y.kind === "label") return { x, y: { data: Int32Array.from(values), shape: [] } };
    return { x, y: { data: Float32Array.from(values), shape: values.length === 1 ? [] : [values.length] } };
  }

  inputs(row: object): Float32Array {
    if (!this.fitted)
      throw new EspalierError("TRANSFORM_NOT_FITTED", "the transform has not seen the training rows yet", {
        fix: "await transform.fit(train), or give it to the trainer: supervisedTrainer({ transform })",
      });
    return Float32Array.from(this.#parts.x.flatMap((one) => numbersOf(one, row)));
  }

  decode(outputs: ArrayLike<number>): Category | Readonly<Record<string, number>> {
    const { labels } = this;
    const { y } = this.#parts;
    const numbers = Array.from(outputs);
    // One number for two labels is the logit of the second, and 0 says yes, as in metrics.
    const scores = labels?.length === 2 && numbers.length === 1 ? [-Number.MIN_VALUE, ...numbers] : numbers;
    const wanted = labels?.length ?? y?.columns.length ?? 0;
    if (!y || scores.length !== wanted)
      throw new EspalierError(
        "SHAPE_MISMATCH",
        `there are ${outputs.length} outputs, and ${wanted} targets`,
        { fix: "give the outputs of the model for one row: one for each class, or for each column of y" },
      );
    if (labels) {
      const label = labels[scores.indexOf(Math.max(...scores))];
      if (label !== undefined) return label;
      throw new EspalierError("OUTPUTS_NOT_FINITE", `the outputs are [${numbers}], which name no label`, {
        fix: "look for inputs that the model has never seen the like of, and at its parameters",
      });
    }
    const own = numbers.map((n, i) => n * (y.deviations?.[i] ?? 1) + (y.means?.[i] ?? 0));
    return own.length === 1 ? (own[0] as number) : Object.fromEntries(own.map((n, i) => [y.columns[i], n]));
  }

  getState(): StateTree {
    const { x, y } = this.#parts;
    return { kind: "columns", x: x.map(plain), y: y ? plain(y) : null };
  }

  setState(state: StateTree): void {
    const { kind, x, y } = (state ?? {}) as { readonly [Name in "kind" | "x" | "y"]?: unknown };
    if (kind !== "columns" || !Array.isArray(x) || ![...x, ...(y ? [y] : [])].every(isPart))
      throw new EspalierError("STATE_INVALID", "this is not a state of columns", {
        fix: "pass what getState() gave",
      });
    this.#parts = { x: x as readonly ColumnPart[], y: isPart(y) ? y : undefined };
  }
}

/** The transform that has this state: in a program that knows nothing of the training. */
export function transformFrom(state: StateTree): ColumnsTransform {
  const transform = new ColumnsTransform({ x: [] });
  transform.setState(state);
  return transform;
}

const plain = (one: ColumnPart): StateTree => ({ ...one }) as Readonly<Record<string, StateTree>>;

const isFitted = ({ kind, means, categories }: ColumnPart): boolean =>
  kind === "numeric" || (means ?? categories) !== undefined;

/** Learns what a part needs from the values of one row after the other. */
function learner({ kind, columns: names }: ColumnPart, rows: Dataset<object>) {
  const learned = names.map(() => ({ count: 0, mean: 0, squares: 0, seen: new Set<Category>() }));
  return {
    read: (row: object): readonly Category[] =>
      names.map((name) => (isCategory(kind) ? categoryOf(row, name) : numberOf(row, name, rows))),
    add: (values: readonly Category[]): void => {
      for (const [i, one] of learned.entries()) {
        const value = values[i] as Category;
        if (typeof value !== "number" || isCategory(kind)) {
          one.seen.add(value);
          continue;
        }
        // Welford's way: exact for large numbers with small deviations.
        const distance = value - one.mean;
        one.mean += distance / ++one.count;
        one.squares += distance * (value - one.mean);
      }
    },
    end: (): ColumnPart => {
      if (kind === "numeric") return { kind, columns: names };
      if (isCategory(kind))
        return { kind, columns: names, categories: learned.map(({ seen }) => [...seen].sort(inOrder)) };
      const deviations = learned.map(({ squares, count }) => Math.sqrt(squares / count) || 1);
      return { kind, columns: names, means: learned.map(({ mean }) => mean), deviations };
    },
  };
}

const isCategory = (kind: ColumnPart["kind"]): boolean => kind === "oneHot" || kind === "label";

function numbersOf({ kind, means, deviations, ...part }: ColumnPart, row: object): readonly number[] {
  return part.columns.flatMap((name, i) => {
    if (!isCategory(kind)) return [(numberOf(row, name) - (means?.[i] ?? 0)) / (deviations?.[i] ?? 1)];
    const known = part.categories?.[i] ?? [];
    const value = categoryOf(row, name);
    const at = known.indexOf(value);
    if (at < 0)
      throw new EspalierError(
        kind === "label" ? "LABEL_UNKNOWN" : "CATEGORY_UNKNOWN",
        `the column "${name}" is ${shown(value)}, which no training row had`,
        { fix: `known are ${shown(known)}; train with all of them, or leave such rows out` },
      );
    return kind === "label" ? [at] : known.map((_, k) => Number(k === at));
  });
}

function cellOf(row: object, name: string): unknown {
  if (typeof row === "object" && row !== null && Object.hasOwn(row, name))
    return row[name as keyof typeof row];
  throw unknownColumn(name, Object.keys(row ?? {}));
}

function numberOf(row: object, name: string, rows?: Dataset<object>): number {
  const value = cellOf(row, name);
  const number = typeof value === "boolean" ? Number(value) : value;
  if (typeof number === "number" && Number.isFinite(number)) return number;
  const because = typeof value === "string" && Number.isFinite(Number(value)) && rows?.textBecause(name);
  const column = JSON.stringify(name);
  // About no row: all of the column is text.
  if (rows && because)
    throw sourceError(
      rows.name,
      undefined,
      new EspalierError("DATA_NOT_FINITE", `the column ${column} is text, because ${because}`, {
        fix: `correct that cell or leave it empty, with missing: { ${column}: 0 }; or read the column as types: { ${column}: "number" }, and leave the row out: skipBad()`,
      }),
    );
  throw new EspalierError(
    "DATA_NOT_FINITE",
    `the column ${column} is ${shown(value)}, which is no finite number`,
    {
      fix:
        `give a number, or take it as a category: oneHot(${column})` +
        (typeof value === "string"
          ? `; a column that csv took for text has a cell that is no number, which types: { ${column}: "number" } finds`
          : ""),
    },
  );
}

function categoryOf(row: object, name: string): Category {
  const value = cellOf(row, name);
  if (typeof value === "string" || typeof value === "boolean" || Number.isFinite(value))
    return value as Category;
  throw new EspalierError("DATA_INVALID", `the column "${name}" is ${shown(value)}, which is no category`, {
    fix: "give a text, a number, true or false",
  });
}
