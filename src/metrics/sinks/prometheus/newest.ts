import { type Histogram, isHistogram, isScalar, type MetricRecord } from "../../record.ts";
import type { RunInfo } from "../../run-info.ts";
import type { Family } from "./exposition.ts";
import { PrometheusNames } from "./names.ts";

const RUN = "espalier_run_info";
const STEP = "espalier_step";

interface Newest {
  readonly record: MetricRecord;
  /** Over all windows, as Prometheus wants them: they only grow. */
  readonly sum: number;
  readonly count: number;
}

/** The newest value of each metric of a run. */
export class NewestValues {
  readonly #run: RunInfo;
  readonly #names = new PrometheusNames([RUN, STEP]);
  readonly #newest = new Map<string, Newest>();
  readonly #steps = new Map<string, number>();

  constructor(run: RunInfo) {
    this.#run = run;
  }

  /** Takes them in. A late value is not the newest. */
  add(records: readonly MetricRecord[]): void {
    for (const record of records) {
      const { key, step, axis, value } = record;
      this.#steps.set(axis, Math.max(step, this.#steps.get(axis) ?? Number.NEGATIVE_INFINITY));
      if (typeof value === "string") continue;
      const before = this.#newest.get(key);
      const { sum, count } = typeof value === "object" ? value : { sum: 0, count: 0 };
      this.#newest.set(key, {
        record: before && before.record.step > step ? before.record : record,
        sum: (before?.sum ?? 0) + sum,
        count: (before?.count ?? 0) + count,
      });
    }
  }

  families(): Family[] {
    const { id: run, name } = this.#run;
    return [
      {
        name: RUN,
        help: "The run these metrics are of",
        type: "gauge",
        samples: [{ labels: { run, name }, value: 1 }],
      },
      {
        name: STEP,
        help: "The newest step with a metric, on each axis",
        type: "gauge",
        samples: [...this.#steps].map(([axis, value]) => ({ labels: { run, axis }, value })),
      },
      ...[...this.#newest.values()].map((newest) => this.#family(newest)),
    ];
  }

  #family({ record, sum, count }: Newest): Family {
    const { key, category, unit } = record;
    const labels = { run: this.#run.id, category, metric: key };
    const name = this.#names.nameOf(key);
    const help = unit === undefined ? record.name : `${record.name} [${unit}]`;
    if (isHistogram(record)) {
      const total = [
        { suffix: "_sum", labels, value: sum },
        { suffix: "_count", labels, value: count },
      ];
      return { name, help, type: "summary", samples: [...ends(record.value, labels), ...total] };
    }
    return { name, help, type: "gauge", samples: isScalar(record) ? [{ labels, value: record.value }] : [] };
  }
}

/** What of the quantiles is known exactly. */
const ends = ({ min, max }: Histogram, labels: Readonly<Record<string, string>>): Family["samples"] => [
  { labels: { ...labels, quantile: "0" }, value: min },
  { labels: { ...labels, quantile: "1" }, value: max },
];
