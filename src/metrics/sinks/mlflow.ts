import type { Json } from "../../checkpoint/index.ts";
import {
  badOption,
  checkOptions,
  EspalierError,
  errorText,
  hex,
  type Options,
  option,
  sha256,
  systemClock,
} from "../../core/index.ts";
import type { Counters } from "../../schedule/index.ts";
import { isScalar, type MetricRecord } from "../record.ts";
import type { RunEnding, RunInfo } from "../run-info.ts";
import { clockOption, comesAgain, filedUpTo, type Sink, settingsByPath, sinkOptions } from "./sink.ts";

// Runs on an MLflow tracking server, by its REST interface:
//
//   open    the experiment and the run, found by its tag or made; settings as parameters
//   write   numbers by runs/log-batch, without what a resumed run has there already
//   close   how the run ended

const mlflowOptions = {
  ...sinkOptions,
  /** Of the tracking server, such as `http://127.0.0.1:5000`. A user and password in it are used. */
  url: option.text({ required: true }),
  /** Its name. It is made where there is none. */
  experiment: option.text({ required: true }),
  /** Default: the run's own name. */
  runName: option.text({}),
  /** For servers that ask for one. */
  token: option.text({}),
  clock: clockOption,
};

/** Options of {@link mlflowSink}. */
export interface MlflowOptions extends Options<typeof mlflowOptions> {}

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
  checkOptions("mlflowSink", options, mlflowOptions);
  const { url, experiment, runName, token, clock = systemClock, ...choice } = options;
  // A wrong one is not shown: it may hold a password.
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw badOption(
      "mlflowSink",
      "url is not the address of a server",
      'give one like "http://127.0.0.1:5000"',
    );
  const api = mlflowApi(url, token);
  let run: { readonly id: string; readonly isSent: ReturnType<typeof sentValues> } | undefined;
  /** How far a call has come that failed, so that it does not begin again. */
  let begun:
    | { readonly records: readonly MetricRecord[]; readonly metrics: readonly MlflowMetric[]; filed: number }
    | undefined;

  return {
    ...choice,
    name: choice.name ?? "mlflow",
    async open(info) {
      const id = await openRun(api, { experiment, runName }, info).catch(unusable);
      run = { id, isSent: sentValues(api, id, filedUpTo(info)) };
    },
    async write(records) {
      if (!run) throw new EspalierError("SINK_UNAVAILABLE", "the MLflow run is not open");
      if (begun?.records !== records)
        begun = { records, metrics: await fresh(records, run.isSent), filed: 0 };
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
async function fresh(
  records: readonly MetricRecord[],
  isSent: ReturnType<typeof sentValues>,
): Promise<MlflowMetric[]> {
  const metrics: MlflowMetric[] = [];
  for (const record of records) {
    if (!isScalar(record)) continue;
    const metric = metricOf(record, record.value);
    if (!(await isSent(record, metric))) metrics.push(metric);
  }
  return metrics;
}

/** A run that is refused will be refused again. */
function unusable(error: unknown): never {
  if (error instanceof MlflowError && error.code === "SINK_REFUSED")
    throw new EspalierError("SINK_UNUSABLE", errorText(error), { cause: error });
  throw error;
}

/** Params of one request. */
const MOST_PARAMS = 100;
/** The tag by which a run is found again. */
const TAG = "espalier.run";

/** Parts of MLflow's answers. */
interface Experiment {
  readonly experiment?: { readonly experiment_id: string; readonly lifecycle_stage?: string };
}
interface FoundRun {
  readonly info: { readonly run_id: string };
  readonly data?: { readonly params?: readonly { readonly key: string }[] };
}

/** The id of the experiment of this name, which is made where there is none. */
async function experimentOf(api: MlflowApi, name: string): Promise<string> {
  const get = async (): Promise<Experiment> =>
    (await api.get("experiments/get-by-name", { experiment_name: name })) as Experiment;
  const found = await get().catch(async (error: unknown) => {
    if (!isError(error, "RESOURCE_DOES_NOT_EXIST")) throw error;
    const made = (await api.post("experiments/create", { name }).catch((raced: unknown) => {
      // Another run made it meanwhile.
      if (!isError(raced, "RESOURCE_ALREADY_EXISTS")) throw raced;
      return undefined;
    })) as { readonly experiment_id: string } | undefined;
    return made ? { experiment: made } : get();
  });
  const experiment: Experiment["experiment"] = found.experiment;
  if (experiment?.lifecycle_stage === "deleted" || experiment === undefined)
    throw new EspalierError("SINK_UNUSABLE", `MLflow at ${api.url}: the experiment "${name}" is deleted`, {
      fix: "restore it there, or choose another name",
    });
  return experiment.experiment_id;
}

const isError = (error: unknown, code: string): boolean =>
  error instanceof MlflowError && error.errorCode === code;

/** The run of an experiment that is this one: found by its tag, or made. Its id. */
async function openRun(
  api: MlflowApi,
  choice: { readonly experiment: string; readonly runName?: string | undefined },
  run: RunInfo,
): Promise<string> {
  const experiment_id = await experimentOf(api, choice.experiment);
  // Always looked for first: it may have been made by a call whose answer was lost.
  const found = (await api.post("runs/search", {
    experiment_ids: [experiment_id],
    filter: `tags.\`${TAG}\` = '${run.id.replaceAll("'", "_")}'`,
    max_results: 1,
  })) as { readonly runs?: readonly FoundRun[] };
  const existing = found.runs?.[0];
  const id = existing?.info.run_id ?? (await makeRun(api, experiment_id, choice.runName ?? run.name, run));
  if (existing) await api.post("runs/update", { run_id: id, status: "RUNNING" });
  // What is set cannot be changed, also not by a run that was resumed with other settings.
  const known = new Set(existing?.data?.params?.map(({ key }) => key));
  const params = paramsOf(run.config).filter(({ key }) => !known.has(key));
  for (let at = 0; at < params.length; at += MOST_PARAMS)
    await api.post("runs/log-batch", { run_id: id, params: params.slice(at, at + MOST_PARAMS) });
  return id;
}

async function makeRun(api: MlflowApi, experiment_id: string, name: string, run: RunInfo): Promise<string> {
  const made = (await api.post("runs/create", {
    experiment_id,
    run_name: name,
    start_time: Math.round(run.startedAt),
    tags: [
      { key: TAG, value: run.id.replaceAll("'", "_") },
      { key: "mlflow.runName", value: name },
    ],
  })) as { readonly run: FoundRun };
  return made.run.info.run_id;
}

/** The longest value that all versions of MLflow take. */
const LONGEST_PARAM = 500;

interface Param {
  readonly key: string;
  readonly value: string;
}

/** Settings as MLflow's parameters: lists as JSON, long values cut. */
const paramsOf = (config: Json): readonly Param[] =>
  settingsByPath(config).map(([name, value]) => ({
    key: mlflowName(name),
    value: (typeof value === "string" ? value : JSON.stringify(value)).slice(0, LONGEST_PARAM),
  }));

/** A value as MLflow's interface has it. Numbers that JSON does not have are `"NaN"`, `"Infinity"`, `"-Infinity"`. */
export interface MlflowMetric {
  readonly key: string;
  readonly value: number | string;
  /** Milliseconds since 1970, whole. */
  readonly timestamp: number;
  /** Whole. */
  readonly step: number;
}

const metricOf = ({ key, step, wall }: MetricRecord, value: number): MlflowMetric => ({
  key: mlflowName(key),
  value: Number.isFinite(value) ? value : String(value),
  timestamp: Math.round(wall),
  step: Math.round(step),
});

/** Of one request: 1000 metrics and 1 MB, some of which is the rest of it. */
const MOST_METRICS = 1000;
const MOST_BYTES = 900_000;

/** Cuts metrics into what one request takes. */
export function* requestsOf(
  metrics: readonly MlflowMetric[],
): Generator<readonly MlflowMetric[], void, undefined> {
  let from = 0;
  let bytes = 0;
  for (const [i, metric] of metrics.entries()) {
    const size = Buffer.byteLength(JSON.stringify(metric)) + 1;
    if (i > from && (i - from === MOST_METRICS || bytes + size > MOST_BYTES)) {
      yield metrics.slice(from, i);
      from = i;
      bytes = 0;
    }
    bytes += size;
  }
  if (from < metrics.length) yield metrics.slice(from);
}

const PAGE = "25000";

/**
 * True for values that MLflow has of a resumed run. It cannot forget those after the point where the run goes on; but
 * the same value need not be sent again.
 */
function sentValues(
  api: MlflowApi,
  run: string,
  resumedAt: Counters | undefined,
): (record: MetricRecord, metric: MlflowMetric) => Promise<boolean> {
  /** By metric: the steps with their values. */
  const known = new Map<string, Set<string>>();
  const load = async (key: string): Promise<Set<string>> => {
    const sent = new Set<string>();
    let page: string | undefined;
    do {
      const answer = (await api.get("metrics/get-history", {
        run_id: run,
        metric_key: key,
        max_results: PAGE,
        ...(page && { page_token: page }),
      })) as { readonly metrics?: readonly MlflowMetric[]; readonly next_page_token?: string };
      for (const metric of answer.metrics ?? []) sent.add(identity(metric));
      page = answer.next_page_token;
    } while (page);
    known.set(key, sent);
    return sent;
  };
  return async (record, metric) =>
    comesAgain(record, resumedAt) &&
    (known.get(metric.key) ?? (await load(metric.key))).has(identity(metric));
}

/** Databases have no infinity: MLflow keeps the largest number for it. */
function identity({ step, value }: MlflowMetric): string {
  const number = Number(value);
  if (Math.abs(number) === Infinity) return `${step} ${Math.sign(number) * Number.MAX_VALUE}`;
  return `${step} ${number}`;
}

const LONGEST_NAME = 250;
const notAllowed = /[^\p{L}\p{N}_./: -]/gu;

/**
 * A key as MLflow takes it: letters, digits and `_./: -`, of at most 250 characters, no path that leads elsewhere.
 * Where that changes it, the end is made of the whole key, so that two keys never become one.
 */
function mlflowName(key: string): string {
  const clean = key
    .replace(notAllowed, "_")
    .split("/")
    .map((part) => (part === "" || part === "." || part === ".." ? "_" : part))
    .join("/");
  if (clean === key && key.length <= LONGEST_NAME) return key;
  const hash = hex(sha256().update(key).digest()).slice(0, 8);
  return `${clean.slice(0, LONGEST_NAME - hash.length - 1)}_${hash}`;
}

const TIMEOUT = 20_000;

/** Statuses that mean: not now. */
const LATER = new Set([408, 425, 429]);
/** Statuses that mean: never this. */
const NOT_THIS = new Set([400, 413, 422]);

interface MlflowApi {
  get(path: string, query: Readonly<Record<string, string>>): Promise<unknown>;
  post(path: string, body: object): Promise<unknown>;
  /** The server, without passwords. */
  readonly url: string;
}

/** An answer that is an error. `errorCode` is MLflow's own. */
class MlflowError extends EspalierError {
  readonly errorCode: string;

  constructor(code: string, said: string, errorCode: string, fix: string) {
    super(code, said, { fix });
    this.errorCode = errorCode;
  }
}

/** MLflow's REST interface, version 2.0. Errors have the codes that a delivery acts on. */
function mlflowApi(url: string, token: string | undefined): MlflowApi {
  const base = new URL(url);
  const { username, password } = base;
  // Where a request has them in its address, it is refused before it is sent.
  base.username = base.password = "";
  const shown = base.href.replace(/\/$/, "");
  const authorization = authorizationOf(token, username, password);
  const headers = { ...(authorization && { authorization }), "content-type": "application/json" };

  const request = async (path: string, search: string, body?: object): Promise<unknown> => {
    const address = `${shown}/api/2.0/mlflow/${path}${search}`;
    let status: number;
    let text: string;
    try {
      const answer = await fetch(address, {
        headers,
        signal: AbortSignal.timeout(TIMEOUT),
        ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
      });
      status = answer.status;
      text = await answer.text();
    } catch (cause) {
      throw unreachable(shown, cause);
    }
    if (status >= 400) throw refusal(`MLflow at ${shown}, ${path}`, status, text);
    return parsed(text) ?? fail(shown);
  };
  return {
    url: shown,
    get: (path, query) => request(path, `?${new URLSearchParams(query)}`),
    post: (path, body) => request(path, "", body),
  };
}

function authorizationOf(token: string | undefined, user: string, password: string): string | undefined {
  if (token !== undefined) return `Bearer ${token}`;
  if (user === "") return undefined;
  const pair = `${decodeURIComponent(user)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

function unreachable(url: string, cause: unknown): EspalierError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const why = inner instanceof Error ? inner.message || inner.name : String(inner);
  return new EspalierError("SINK_UNAVAILABLE", `MLflow at ${url} does not answer: ${why}`, {
    fix: "see whether the server runs and the address is right",
    cause,
  });
}

function refusal(what: string, status: number, text: string): MlflowError {
  const answer = parsed(text);
  const member = (name: string): string => {
    const value = (answer as Readonly<Record<string, unknown>> | undefined)?.[name];
    return typeof value === "string" ? value : "";
  };
  const errorCode = member("error_code");
  const message = member("message") || text.replace(/<[^>]*>/g, " ");
  const said = `${what}: ${status} ${errorCode} ${message}`.replace(/\s+/g, " ").trim().slice(0, 500);
  if (status >= 500 || LATER.has(status))
    return new MlflowError("SINK_UNAVAILABLE", said, errorCode, "see the server's log");
  if (NOT_THIS.has(status))
    return new MlflowError("SINK_REFUSED", said, errorCode, "see what MLflow says of it");
  const fix =
    status === 401 || status === 403
      ? "give mlflowSink a token that may write to the experiment"
      : "see whether url is the address of an MLflow server, and whether the run was deleted there";
  return new MlflowError("SINK_UNUSABLE", said, errorCode, fix);
}

function fail(url: string): never {
  throw new EspalierError("SINK_UNUSABLE", `what answers at ${url} is not MLflow: it does not speak JSON`, {
    fix: "give mlflowSink the address of an MLflow server",
  });
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
