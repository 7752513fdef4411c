import { didYouMean } from "../../core/index.ts";
import { every } from "../../schedule/index.ts";
import { matcherOf } from "../matching.ts";
import type { MetricRecord } from "../record.ts";
import type { Delivery } from "../sinks/delivery/delivery.ts";
import type { Sink } from "../sinks/sink.ts";
import type { Series } from "./series.ts";

/** When the windows of back ends end, unless they say otherwise. */
export const backEndSchedule = every({ steps: 100 });

/** A sink of a logger: what it wants of all that is logged, and how it gets it. */
export class Outlet {
  readonly delivery: Delivery;
  readonly sink: Sink;
  readonly #wanted = new WeakMap<Series, boolean>();
  readonly #match: ReturnType<typeof matcherOf> | undefined;

  constructor(sink: Sink, delivery: Delivery) {
    this.sink = sink;
    this.delivery = delivery;
    this.#match = sink.metrics && matcherOf(sink.metrics, `metrics of the sink "${sink.name}"`);
  }

  /** Whether the sink has chosen this metric. */
  wants(series: Series): boolean {
    const known = this.#wanted.get(series);
    if (known !== undefined) return known;
    const { categories } = this.sink;
    const wanted =
      (categories === undefined || categories.includes(series.category)) &&
      (this.#match === undefined || this.#match(series) !== undefined);
    this.#wanted.set(series, wanted);
    return wanted;
  }

  /** That of all these the sink wanted none, as where a name is misspelt; undefined where it wanted one. */
  unfit(all: readonly Series[]): string | undefined {
    if (all.length === 0 || all.some((series) => this.wants(series))) return undefined;
    const { name, categories, metrics } = this.sink;
    const hint = [
      ...misspelt(
        categories,
        all.map(({ category }) => category),
      ),
      ...misspelt(
        metrics,
        all.map(({ key }) => key),
      ),
    ];
    const asked = [
      ...(categories ? [`categories: ${JSON.stringify(categories)}`] : []),
      ...(metrics ? [`metrics: ${JSON.stringify(metrics)}`] : []),
    ];
    return `sink "${name}" got nothing: no metric of the run fits ${asked.join(" and ")}${hint[0] ?? ""}`;
  }

  /** Hands over what it wants of a closed window. */
  send(filed: readonly Filed[]): void {
    const wanted: MetricRecord[] = [];
    for (const { series, record } of filed) if (this.wants(series)) wanted.push(record);
    if (wanted.length > 0) this.delivery.send(wanted);
  }
}

/** A record, and the metric that it is of. */
export interface Filed {
  readonly series: Series;
  readonly record: MetricRecord;
}

/** What was meant by names that nothing has. */
const misspelt = (asked: readonly string[] = [], known: readonly string[]): readonly string[] =>
  asked.flatMap((name) => (known.includes(name) ? [] : [didYouMean(name, new Set(known))])).filter(Boolean);
