import { EspalierError } from "../../core/index.ts";
import { holdsScores, type MetricDeclaration } from "../metric.ts";
import { KeyRing } from "../names.ts";
import type { Reduction } from "../record.ts";
import type { Accumulator } from "./accumulator.ts";

/** What kind of values a metric has: it never changes. */
export type ValueKind = "number" | "text" | "many";

/** One metric: who owns it, and its values in every window. */
export interface Series {
  readonly category: string;
  readonly name: string;
  readonly key: string;
  readonly unit: string | undefined;
  readonly axis: string;
  readonly reduction: Reduction;
  /** Whether whoever logged it first chose the reduction: then it is part of the state. */
  readonly isChosen: boolean;
  readonly kind: ValueKind;
  readonly owner: string;
  /** One a group of windows, in the order of the groups. Empty where values are not reduced. */
  readonly windows: Accumulator[];
}

/** More different metrics than any run has: names that hold a step or an id. */
const most = 100_000;

/** All metrics of a logger. */
export class SeriesBook {
  readonly all: Series[] = [];
  readonly #keys = new KeyRing();
  readonly #byCategory = new Map<string, Map<string, Series>>();
  readonly #declared: readonly MetricDeclaration[];
  readonly #windows: () => Accumulator[];

  constructor(declared: readonly MetricDeclaration[], windows: () => Accumulator[]) {
    this.#declared = declared;
    this.#windows = windows;
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

  /** Takes a metric in with its first value, whose kind and writer are then its own. */
  begin(category: string, name: string, kind: ValueKind, owner: string, chosen?: Reduction): Series {
    if (this.all.length >= most)
      throw new EspalierError(
        "METRICS_TOO_MANY",
        `"${category}/${name}" would be metric number ${most + 1}`,
        {
          fix: "name what is measured, and give what changes from call to call as its value or its step",
        },
      );
    const declared =
      this.#declared.find((each) => each.name === name && each.category === category) ??
      this.#declared.find((each) => each.name === name && each.category === undefined);
    const reduction = declared?.reduction ?? chosen ?? (holdsScores(category) ? "none" : fitting[kind]);
    if (kind !== "number" && reduction !== fitting[kind] && reduction !== "none")
      throw unfit(category, name, kind === "text" ? "a text" : "many numbers", reduction);
    const series: Series = {
      category,
      name,
      key: this.#keys.keyOf(category, name),
      unit: declared?.unit,
      axis: declared?.axis ?? "steps",
      reduction,
      isChosen: chosen !== undefined && reduction === chosen,
      // Numbers one by one make a histogram too.
      kind,
      owner: declared?.owner ?? owner,
      windows: this.#windows(),
    };
    this.category(category).set(name, series);
    this.all.push(series);
    return series;
  }
}

const fitting: Readonly<Record<ValueKind, Reduction>> = { number: "mean", text: "last", many: "histogram" };

const unfit = (category: string, name: string, what: string, reduction: Reduction): EspalierError =>
  new EspalierError(
    "METRIC_VALUE",
    `${category}/${name} was logged as ${what}, and its declared reduction is "${reduction}"`,
    { fix: what === "a text" ? 'declare it with reduction "last"' : 'declare it with reduction "histogram"' },
  );
