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
    this.#match = sink.metrics && matcherOf(sink.metrics);
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

  /** Hands over what it wants of a closed window. */
  send(records: readonly MetricRecord[], series: readonly Series[]): void {
    const wanted = records.filter((_, i) => this.wants(series[i] as Series));
    if (wanted.length > 0) this.delivery.send(wanted);
  }
}
