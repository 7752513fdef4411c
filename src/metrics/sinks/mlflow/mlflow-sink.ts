import { badOption, type Clock, checkNames, EspalierError, shown, systemClock } from "../../../core/index.ts";
import { isScalar, type MetricRecord } from "../../record.ts";
import type { RunEnding } from "../../run-info.ts";
import type { Sink, SinkOptions } from "../sink.ts";
import { filedUpTo } from "../sink.ts";
import { MlflowError, mlflowApi } from "./api.ts";
import { History } from "./history.ts";
import { type Metric, metricOf, requestsOf } from "./metric.ts";
import { openRun } from "./run.ts";

/** Options of {@link mlflowSink}. */
export interface MlflowOptions extends SinkOptions {
  /** Of the tracking server, such as `http://127.0.0.1:5000`. A user and password in it are used. */
  readonly url: string;
  /** Its name. It is made where there is none. */
  readonly experiment: string;
  /** Default: the run's own name. */
  readonly runName?: string;
  /** For servers that ask for one. */
  readonly token?: string;
  readonly clock?: Clock;
}

const STATUS: Readonly<Record<RunEnding["outcome"], string>> = {
  completed: "FINISHED",
  stopped: "FINISHED",
  interrupted: "KILLED",
  failed: "FAILED",
};

/**
 * A run of an MLflow tracking server, by its REST interface. Settings become parameters, numbers metrics under their
 * keys; texts and histograms, for which MLflow has no place, are left out. Steps are rounded to whole numbers, which
 * MLflow asks for. MLflow keeps NaN; of infinity its databases keep the largest number there is.
 *
 * A resumed run goes on in the same MLflow run, which is found by its tag `espalier.run`. MLflow cannot remove what
 * was filed after the point where it goes on: what comes again the same stands once, what comes out otherwise stands
 * beside it.
 *
 * @example
 * ```ts
 * const logger = new Logger({ sinks: [mlflowSink({ url: "http://127.0.0.1:5000", experiment: "mnist" })] });
 * ```
 */
export function mlflowSink(options: MlflowOptions): Sink {
  const { url, experiment, runName, token, clock = systemClock, ...choice } = checked(options);
  const api = mlflowApi(url, token);
  let run: { readonly id: string; readonly history: History } | undefined;
  /** How far a call has come that failed, so that it does not begin again. */
  let begun:
    | { readonly records: readonly MetricRecord[]; readonly metrics: readonly Metric[]; filed: number }
    | undefined;

  return {
    ...choice,
    name: choice.name ?? "mlflow",
    async open(info) {
      const id = await openRun(api, { experiment, runName }, info).catch(unusable);
      run = { id, history: new History(api, id, filedUpTo(info)) };
    },
    async write(records) {
      if (!run) throw new EspalierError("SINK_UNAVAILABLE", "the MLflow run is not open");
      if (begun?.records !== records)
        begun = { records, metrics: await fresh(records, run.history), filed: 0 };
      for (const metrics of requestsOf(begun.metrics.slice(begun.filed))) {
        await api.post("runs/log-batch", { run_id: run.id, metrics });
        begun.filed += metrics.length;
      }
      begun = undefined;
    },
    async close({ outcome, reason }) {
      if (!run) return;
      const value = reason?.slice(0, 5000);
      if (value) await api.post("runs/set-tag", { run_id: run.id, key: "espalier.reason", value });
      await api.post("runs/update", {
        run_id: run.id,
        status: STATUS[outcome],
        end_time: Math.round(clock.wall()),
      });
    },
  };
}

/** The numbers among the records, without those that are filed. */
async function fresh(records: readonly MetricRecord[], history: History): Promise<Metric[]> {
  const metrics: Metric[] = [];
  for (const record of records) {
    if (!isScalar(record)) continue;
    const metric = metricOf(record, record.value);
    if (!(await history.has(record, metric))) metrics.push(metric);
  }
  return metrics;
}

/** A run that is refused will be refused again. */
function unusable(error: unknown): never {
  if (error instanceof MlflowError && error.code === "SINK_REFUSED")
    throw new EspalierError("SINK_UNUSABLE", error.said, { cause: error });
  throw error;
}

function checked(options: MlflowOptions): MlflowOptions {
  const known = [
    "url",
    "experiment",
    "runName",
    "token",
    "clock",
    "name",
    "schedule",
    "categories",
    "metrics",
  ];
  checkNames("mlflowSink", options, known);
  const { url, experiment } = options;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw badOption(
      "mlflowSink",
      "url is not the address of a server",
      'give one like "http://127.0.0.1:5000"',
    );
  if (typeof experiment !== "string" || experiment === "")
    throw badOption("mlflowSink", `experiment is ${shown(experiment)}`, "give the name of an experiment");
  return options;
}
