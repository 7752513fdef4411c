import { EspalierError, shown } from "../../core/index.ts";
import { Tensor } from "../../engine/index.ts";
import { holdsScores, type MetricDeclaration } from "../metric.ts";
import type { Reduction } from "../record.ts";
import type { Accumulator } from "./accumulator.ts";

/** A value that can be logged: a number (a boolean is 0 or 1), a text, many numbers, or a tensor on any device. */
export type LoggedValue = number | bigint | boolean | string | ArrayLike<number> | Tensor | null | undefined;

/** A value in memory. */
export type HostValue = number | string | ArrayLike<number>;

/** Converts what was logged to a value in memory or a tensor; undefined where there is none. */
export function toValue(value: unknown, category: string, name: string): HostValue | Tensor | undefined {
  switch (typeof value) {
    case "number":
    case "string":
      return value;
    case "boolean":
    case "bigint":
      return Number(value);
    case "undefined":
      return undefined;
    case "object":
      if (value === null) return undefined;
      if (value instanceof Tensor) return value;
      if (isNumbers(value)) return value;
  }
  throw new EspalierError("METRIC_VALUE", `${category}/${name} was logged as ${preview(value)}`, {
    fix: "log numbers, texts, arrays of numbers or tensors; of an object log its numbers, each under a name of its own",
  });
}

const isNumbers = (value: object): value is ArrayLike<number> =>
  Array.isArray(value)
    ? value.every((each) => typeof each === "number")
    : ArrayBuffer.isView(value) && !(value instanceof DataView);

function preview(value: unknown): string {
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  let text: string;
  try {
    text = shown(value);
  } catch {
    text = "an object";
  }
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

/** The kind of values that a metric has. It never changes. */
export type ValueKind = "number" | "text" | "many";

/** The kind of a value; that of a tensor by its size. */
export function kindOf(value: HostValue | Tensor): ValueKind {
  if (typeof value === "number") return "number";
  if (typeof value === "string") return "text";
  return value instanceof Tensor && value.size === 1 ? "number" : "many";
}

/** One metric: its owner, and its open windows. */
export interface Series {
  readonly category: string;
  readonly name: string;
  readonly key: string;
  readonly unit: string | undefined;
  readonly axis: string;
  readonly reduction: Reduction;
  /** The first writer chose the reduction: then it is part of the state. */
  readonly isChosen: boolean;
  readonly kind: ValueKind;
  readonly owner: string;
  /** One accumulator for each group of windows, in the order of the groups. */
  readonly windows: Accumulator[];
}

/** Refuses a second writer, and a value of another kind. Single numbers make histograms too. */
export function checkValue(series: Series, owner: string, kind: ValueKind): void {
  const { category, name } = series;
  if (series.owner !== owner)
    throw new EspalierError(
      "METRIC_TWO_WRITERS",
      `"${name}" of category "${category}" is logged by "${series.owner}", and now by "${owner}" too`,
      { fix: "let one of them log it under another name, or in another category" },
    );
  if (kind === series.kind || (series.reduction === "histogram" && kind !== "text")) return;
  throw new EspalierError(
    "METRIC_VALUE",
    `${category}/${name} has been ${kindNames[series.kind]}, and is now logged as ${kindNames[kind]}`,
    { fix: "log the other under a name of its own" },
  );
}

const kindNames: Readonly<Record<ValueKind, string>> = {
  number: "a number",
  text: "a text",
  many: "many numbers",
};

/** Reductions of metrics that are not declared. */
const usualReduction: Readonly<Record<ValueKind, Reduction>> = {
  number: "mean",
  text: "last",
  many: "histogram",
};

/** More metrics than any run has: beyond it names hold a step or an id. */
const mostSeries = 100_000;

/** All metrics of a logger, by category and name. */
export class SeriesBook {
  readonly all: Series[] = [];
  /** Keys in lower case: some back ends do not tell upper from lower. */
  readonly #keys = new Set<string>();
  readonly #byCategory = new Map<string, Map<string, Series>>();
  readonly #declared: readonly MetricDeclaration[];
  readonly #makeWindows: () => Accumulator[];

  constructor(declared: readonly MetricDeclaration[], makeWindows: () => Accumulator[]) {
    this.#declared = declared;
    this.#makeWindows = makeWindows;
  }

  /** The metrics of a category by name. */
  category(category: string): Map<string, Series> {
    let found = this.#byCategory.get(category);
    if (!found) {
      found = new Map();
      this.#byCategory.set(category, found);
    }
    return found;
  }

  /** Adds a metric with its first value, which fixes its kind and its owner. */
  add(category: string, name: string, kind: ValueKind, owner: string, chosen?: Reduction): Series {
    if (this.all.length >= mostSeries)
      throw new EspalierError(
        "METRICS_TOO_MANY",
        `"${category}/${name}" would be metric number ${mostSeries + 1}`,
        { fix: "name what is measured, and give what changes from call to call as its value or its step" },
      );
    const declared =
      this.#declared.find((each) => each.name === name && each.category === category) ??
      this.#declared.find((each) => each.name === name && each.category === undefined);
    const reduction =
      declared?.reduction ?? chosen ?? (holdsScores(category) ? "none" : usualReduction[kind]);
    if (kind !== "number" && reduction !== usualReduction[kind] && reduction !== "none")
      throw new EspalierError(
        "METRIC_VALUE",
        `${category}/${name} was logged as ${kindNames[kind]}, and its declared reduction is "${reduction}"`,
        { fix: `declare it with reduction "${usualReduction[kind]}"` },
      );
    const series: Series = {
      category,
      name,
      key: this.#keyOf(category, name),
      unit: declared?.unit,
      axis: declared?.axis ?? "steps",
      reduction,
      isChosen: chosen !== undefined && reduction === chosen,
      kind,
      owner: declared?.owner ?? owner,
      windows: this.#makeWindows(),
    };
    this.category(category).set(name, series);
    this.all.push(series);
    return series;
  }

  /** A key that no other metric has, also where two names are the same once they are sanitized. */
  #keyOf(category: string, name: string): string {
    const wanted = `${sanitized(category)}/${sanitized(name)}`;
    let key = wanted;
    for (let i = 2; this.#keys.has(key.toLowerCase()); i++) key = `${wanted}_${i}`;
    this.#keys.add(key.toLowerCase());
    return key;
  }
}

/** Everything but letters, digits and `_ . - /` becomes `_`, so that every sink can take the name. */
function sanitized(text: string): string {
  const clean = text
    .replace(/[^\p{L}\p{N}_.\-/]+/gu, "_")
    .split("/")
    .filter((part) => part !== "")
    .join("/")
    .slice(0, 200);
  return clean === "" || clean === "." || clean === ".." ? "_" : clean;
}
