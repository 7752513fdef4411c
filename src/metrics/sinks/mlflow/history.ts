import type { Counters } from "../../../schedule/index.ts";
import type { MetricRecord } from "../../record.ts";
import { comesAgain } from "../sink.ts";
import type { MlflowApi } from "./api.ts";
import type { Metric } from "./metric.ts";

const PAGE = "25000";

/**
 * What MLflow has of a run that was resumed. MLflow cannot forget what came after the point where the run goes on;
 * but what comes again the same need not be filed again.
 */
export class History {
  readonly #api: MlflowApi;
  readonly #run: string;
  readonly #resumedAt: Counters | undefined;
  /** By metric: the steps with their values. */
  readonly #known = new Map<string, Set<string>>();

  constructor(api: MlflowApi, run: string, resumedAt: Counters | undefined) {
    this.#api = api;
    this.#run = run;
    this.#resumedAt = resumedAt;
  }

  /** Whether this very value is filed. */
  async has(record: MetricRecord, metric: Metric): Promise<boolean> {
    if (!comesAgain(record, this.#resumedAt)) return false;
    const known = this.#known.get(metric.key) ?? (await this.#load(metric.key));
    return known.has(identity(metric));
  }

  async #load(key: string): Promise<Set<string>> {
    const known = new Set<string>();
    let page: string | undefined;
    do {
      const answer = (await this.#api.get("metrics/get-history", {
        run_id: this.#run,
        metric_key: key,
        max_results: PAGE,
        ...(page && { page_token: page }),
      })) as { readonly metrics?: readonly Metric[]; readonly next_page_token?: string };
      for (const metric of answer.metrics ?? []) known.add(identity(metric));
      page = answer.next_page_token;
    } while (page);
    this.#known.set(key, known);
    return known;
  }
}

/** Databases have no infinity: MLflow keeps the largest number for it. */
function identity({ step, value }: Metric): string {
  const number = Number(value);
  if (Math.abs(number) === Infinity) return `${step} ${Math.sign(number) * Number.MAX_VALUE}`;
  return `${step} ${number}`;
}
