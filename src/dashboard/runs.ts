/**
 * Runs as the page shows them: rows of the stats store, joined with what their directories say.
 *
 *     runs/ID/          the directory of a run, with its run.json
 *     runs/SWEEP/ID/    that of a trial
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { readRecord, runSettings, type Sweep as SweepFile } from "../config/index.ts";
import { countText, printable } from "../core/index.ts";
import {
  isAlive,
  type MetricRow,
  openStatsStore,
  type RunRow,
  readHeartbeat,
  readWhy,
  type StatsStore,
} from "../metrics/index.ts";
import type {
  Comparison,
  ControlState,
  Hooks,
  MetricSummary,
  RunDetail,
  RunState,
  RunSummary,
  Series,
  Sparks,
  Sweep,
  Why,
} from "./api.ts";
import { inside, invalid } from "./safety.ts";

/** Where runs are. */
export interface RunsOptions {
  /** The stats store, or its location: it is opened as soon as it is there. */
  readonly store: StatsStore | string;
  /** The directory of runs. */
  readonly directory: string;
}

/** The runs of a stats store and of a directory. */
export class Runs {
  readonly directory: string;
  /** The path or URL of the stats store. */
  readonly location: string;
  #store: StatsStore;
  #opening: Promise<StatsStore> | undefined;
  #isOwn = false;
  /** Knows the runs that have a directory alone, and no value of them. */
  readonly #memory: StatsStore;
  #alone: ReadonlyMap<string, RunRow> = new Map();

  private constructor({ store, directory }: RunsOptions, memory: StatsStore) {
    this.directory = resolve(directory);
    this.#memory = memory;
    [this.#store, this.location] = typeof store === "string" ? [memory, store] : [store, store.location];
  }

  static async open(options: RunsOptions): Promise<Runs> {
    const runs = new Runs(options, await openStatsStore(":memory:"));
    await runs.rows();
    return runs;
  }

  /** All runs, newest first: those of the store, and those that have a directory alone. */
  async rows(): Promise<readonly RunRow[]> {
    if (this.#store === this.#memory && existsSync(this.location)) {
      this.#opening ??= openStatsStore(this.location).finally(() => {
        this.#opening = undefined;
      });
      this.#store = await this.#opening;
      this.#isOwn = true;
    }
    const filed = this.#store === this.#memory ? [] : await this.#store.runs();
    const known = new Set(filed.map(({ id }) => id));
    const alone = namesIn(this.directory).flatMap((id) => (known.has(id) ? [] : (this.#rowIn(id) ?? [])));
    for (const row of alone) if (!this.#alone.has(row.id)) await this.#memory.startRun(row);
    this.#alone = new Map(alone.map((row) => [row.id, row]));
    return alone.length === 0 ? filed : [...filed, ...alone].sort((a, b) => b.startedAt - a.startedAt);
  }

  /** A run by its id alone: what names a run in an address is never a pattern. */
  async row(id: string): Promise<RunRow> {
    if (this.#alone.has(id)) await this.rows();
    const row = this.#alone.get(id) ?? (await this.#store.run(id));
    if (row.id !== id) throw invalid("a run is named by its id", `write ${row.id}`);
    return row;
  }

  isFiled(id: string): boolean {
    return !this.#alone.has(id);
  }

  /** The store that knows a run. */
  storeOf(id: string): StatsStore {
    return this.isFiled(id) ? this.#store : this.#memory;
  }

  /** A run as its directory alone tells it; undefined where there is none of this id. */
  #rowIn(id: string): RunRow | undefined {
    const directory = directoryIn(this.directory, id);
    if (directory === undefined) return undefined;
    try {
      const record = readRecord(directory);
      if (record.id !== id) return undefined;
      const beat = heartbeatIn(directory);
      // One that was resumed says how it ended before.
      const outcome = beat && isAlive(beat) ? "running" : (record.outcome ?? "running");
      return {
        id,
        name: String(record.name ?? id),
        startedAt: Date.parse(record.created) || 0,
        endedAt: outcome === "running" ? undefined : beat?.wall,
        outcome: outcome as RunRow["outcome"],
        reason: record.reason,
        config: { ...record.labels },
        resumes: 0,
        counters: readControl(directory)?.counters ?? (beat ? { steps: beat.step } : {}),
        heartbeat: beat?.wall,
        limits: {},
        tags: [],
        archived: false,
      };
    } catch {
      return undefined; // It is damaged.
    }
  }

  /** Closes what was opened here: a store that was given stays open. */
  async close(): Promise<void> {
    if (this.#isOwn) await this.#store.close();
    await this.#memory.close();
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // It is not there yet.
  }
}

/** All runs, newest first. */
export async function listRuns(runs: Runs): Promise<readonly RunSummary[]> {
  return (await runs.rows()).map((row) => summaryOf(runs, row));
}

/** The run of a row in short. */
export function summaryOf(runs: Runs, row: RunRow): RunSummary {
  const sweep = sweepOf(row);
  const directory = row.outcome === "running" ? directoryOf(runs, row) : undefined;
  const beat = newestBeat(row, directory);
  const state = stateOf(row, directory);
  return {
    id: row.id,
    name: row.name,
    state,
    startedAt: row.startedAt,
    ...(row.reason !== undefined && { reason: row.reason }),
    ...(row.endedAt !== undefined && { endedAt: row.endedAt }),
    ...(beat !== undefined && { heartbeat: beat }),
    resumes: row.resumes,
    counters: row.counters,
    limits: row.limits,
    tags: row.tags,
    archived: row.archived,
    ...progressOf(row),
    ...(sweep && { sweep: sweep.id }),
  };
}

/** The directory of a run; undefined where it has none here. */
export function directoryOf({ directory }: Pick<Runs, "directory">, row: RunRow): string | undefined {
  const sweep = sweepOf(row);
  return directoryIn(directory, row.id) ?? (sweep && directoryIn(directory, sweep.id, row.id));
}

function directoryIn(root: string, ...names: readonly string[]): string | undefined {
  const found = inside(root, ...names);
  // Not a link to the directory of another run.
  return found?.endsWith(join(sep, ...names)) && existsSync(join(found, "run.json")) ? found : undefined;
}

/** The sweep that a run is a trial of, by its labels. */
export function sweepOf({ config }: RunRow): { readonly id: string; readonly trial: number } | undefined {
  const { sweep } = (config ?? {}) as {
    readonly sweep?: { readonly id?: unknown; readonly trial?: unknown };
  };
  return typeof sweep?.id === "string" ? { id: sweep.id, trial: Number(sweep.trial) } : undefined;
}

function stateOf(row: RunRow, directory: string | undefined): RunState {
  if (row.outcome !== "running") return row.outcome;
  if (!isRunAlive(row, directory)) return "lost";
  return directory !== undefined && readControl(directory)?.state === "paused" ? "paused" : "running";
}

/** Milliseconds without a sign of life after which a run without a directory counts as lost, as `isAlive` has it. */
const PATIENCE = 120_000;

/** True where the process of a run is there, as far as can be seen. */
export function isRunAlive(row: RunRow, directory: string | undefined): boolean {
  if (row.outcome !== "running") return false;
  const beat = directory === undefined ? undefined : heartbeatIn(directory);
  if (beat) return isAlive(beat);
  // One that has just begun has not beaten yet.
  return Date.now() - Math.max(row.heartbeat ?? 0, row.startedAt) < PATIENCE;
}

function newestBeat(row: RunRow, directory: string | undefined): number | undefined {
  const wall = (directory === undefined ? undefined : heartbeatIn(directory))?.wall ?? 0;
  const newest = Math.max(wall, row.heartbeat ?? 0);
  return newest > 0 ? newest : undefined;
}

function heartbeatIn(directory: string): ReturnType<typeof readHeartbeat> {
  try {
    const file = inside(directory, "heartbeat.json");
    return file === undefined ? undefined : readHeartbeat(file);
  } catch {
    return undefined; // Damaged: the rows of the store are what is left.
  }
}

/** What a run can be told, as its directory says; undefined where nothing listens. */
export function readControl(directory: string): ControlState | undefined {
  const file = inside(directory, "control", "state.json");
  if (file === undefined) return undefined;
  try {
    const state = JSON.parse(readFileSync(file, "utf8")) as ControlState | null;
    return typeof state?.state === "string" ? state : undefined;
  } catch {
    return undefined;
  }
}

/** The share of the limit that is reached first. */
function progressOf({ outcome, limits, counters }: RunRow): { readonly progress?: number } {
  if (outcome === "completed") return { progress: 1 };
  const shares = Object.entries(limits).flatMap(([unit, total]) =>
    total > 0 ? [(counters[unit] ?? 0) / total] : [],
  );
  return shares.length > 0 ? { progress: Math.min(1, Math.max(...shares)) } : {};
}

/** A run in full. */
export async function readDetail(runs: Runs, id: string): Promise<RunDetail> {
  const row = await runs.row(id);
  const store = runs.storeOf(id);
  const directory = directoryOf(runs, row);
  const control = directory === undefined ? undefined : readControl(directory);
  const file = configOf(runs, row);
  return {
    ...summaryOf(runs, row),
    config: file === undefined ? JSON.stringify(row.config, undefined, 2) : readFileSync(file, "utf8"),
    settings: Object.fromEntries(settingsOf(runs, row)),
    metrics: await readMetrics(store, id),
    events: await store.counts(id),
    hasDirectory: directory !== undefined,
    isFiled: runs.isFiled(id),
    ...(control && { control }),
  };
}

function configOf(runs: Runs, row: RunRow): string | undefined {
  const directory = directoryOf(runs, row);
  return directory === undefined ? undefined : inside(directory, "config.yaml");
}

function settingsOf(runs: Runs, row: RunRow): ReadonlyMap<string, string> {
  try {
    return runSettings(configOf(runs, row), row.config);
  } catch {
    return runSettings(undefined, row.config); // Somebody has edited the file: what was filed is still known.
  }
}

/** The metrics of a run, with their newest values. */
async function readMetrics(store: StatsStore, id: string): Promise<readonly MetricSummary[]> {
  const points = new Map((await store.metrics(id)).map((each) => [each.key, each.points]));
  return (await store.latest(id)).map((row) => ({
    key: row.key,
    category: row.category,
    name: row.name,
    axis: row.axis,
    ...(row.unit !== undefined && { unit: row.unit }),
    points: points.get(row.key) ?? 0,
    ...(row.value !== undefined && { last: finite(row.value) }),
  }));
}

/** JSON has no other numbers. */
export const finite = (value: number | null): number | null =>
  value !== null && Number.isFinite(value) ? value : null;

/** Which part of metrics is read, and how finely. */
export interface SeriesQuery {
  readonly keys: readonly string[];
  readonly points: number;
  readonly axis: "step" | "time";
  readonly from?: number;
  readonly to?: number;
}

/** Metrics of a run over steps or time, thinned by the database. */
export async function readSeries(runs: Runs, run: string, asked: SeriesQuery): Promise<readonly Series[]> {
  const { keys, ...choice } = asked;
  return Promise.all(
    keys.map(async (key) => {
      const buckets = await runs.storeOf(run).buckets(run, key, choice);
      const sum = (of: "count" | "notFinite") => buckets.reduce((all, bucket) => all + bucket[of], 0);
      return {
        run,
        key,
        x: buckets.map(({ x }) => x),
        min: buckets.map(({ min }) => min),
        max: buckets.map(({ max }) => max),
        mean: buckets.map(({ mean }) => mean),
        values: sum("count"),
        notFinite: sum("notFinite"),
      };
    }),
  );
}

/** Values of a spark line. */
const SPARK_POINTS = 40;

/** One metric of many runs in few values. */
export async function readSparks(runs: Runs, key: string, ids: readonly string[]): Promise<Sparks> {
  const sparks = await Promise.all(
    ids.map(async (id) => {
      const buckets = await runs.storeOf(id).buckets(id, key, { points: SPARK_POINTS });
      return [id, buckets.map(({ mean }) => mean)] as const;
    }),
  );
  return Object.fromEntries(sparks);
}

/** Runs side by side. */
export async function readComparison(runs: Runs, ids: readonly string[]): Promise<Comparison> {
  const rows = await Promise.all(ids.map((id) => runs.row(id)));
  const settings = rows.map((row) => settingsOf(runs, row));
  const metrics = await Promise.all(
    rows.map(
      async ({ id }) =>
        new Map(
          (await runs.storeOf(id).latest(id)).flatMap(({ key, value }: MetricRow) =>
            value === undefined ? [] : [[key, value] as const],
          ),
        ),
    ),
  );
  const names = (maps: readonly ReadonlyMap<string, unknown>[]) => [
    ...new Set(maps.flatMap((map) => [...map.keys()])),
  ];
  return {
    runs: rows.map((row) => summaryOf(runs, row)),
    settings: Object.fromEntries(
      names(settings)
        .map((path) => [path, settings.map((each) => each.get(path) ?? null)] as const)
        .filter(([, values]) => new Set(values).size > 1),
    ),
    metrics: Object.fromEntries(
      names(metrics).map((key) => [key, metrics.map((each) => finite(each.get(key) ?? null))]),
    ),
  };
}

/** The hooks of a run: their order with reasons, how long they took, and which are enabled. */
export async function readHooks(runs: Runs, id: string): Promise<Hooks> {
  const row = await runs.row(id);
  const directory = directoryOf(runs, row);
  const file = directory === undefined ? undefined : inside(directory, "plan.txt");
  const states = (directory === undefined ? undefined : readControl(directory))?.hooks ?? {};
  // Of a run that takes no requests, what was filed when a hook was switched.
  const switched = new Map(
    (await runs.storeOf(id).list(id, "intervention"))
      .filter(({ what }) => what === "enabled" || what === "disabled")
      .map(({ who, what }) => [who, what === "enabled"]),
  );
  const timings = await runs.storeOf(id).hookTimings(id);
  const known = new Set(timings.map(({ hook }) => hook));
  const untimed = Object.keys(states).filter((name) => !known.has(name));
  const none = { count: 0, mean: 0, p99: 0, max: 0, total: 0 };
  return {
    ...(file !== undefined && { plan: readFileSync(file, "utf8") }),
    hooks: [...timings, ...untimed.map((hook) => ({ hook, ...none }))].map(({ hook, ...times }) => ({
      name: hook,
      enabled: states[hook]?.enabled ?? switched.get(hook) ?? true,
      ...times,
    })),
  };
}

/** Why a hook did or did not run, in sentences. */
export async function explainHook(runs: Runs, id: string, hook: string, at?: number): Promise<Why> {
  const { decisions, verdicts, undecided } = await readWhy(runs.storeOf(id), id, hook, at);
  const sentences = decisions.map(({ fromStep, toStep, event, ran, times, why }) => {
    const steps =
      fromStep === toStep
        ? `step ${countText(fromStep)}`
        : `steps ${countText(fromStep)} to ${countText(toStep)}`;
    return `${event} at ${steps}: it ${ran ? "ran" : "did not run"}${times > 1 ? ` ${countText(times)} times` : ""}: ${why}`;
  });
  const lines = verdicts?.map(({ text }) => text) ?? (undecided ? [undecided.text] : sentences);
  return { hook, lines: lines.map((line) => printable(line, 1000)) };
}

/** Sweeps with their trials: as their directories say, or as the labels of their runs do. */
export async function listSweeps(runs: Runs): Promise<readonly Sweep[]> {
  const rows = await runs.rows();
  const ids = [...new Set(rows.flatMap((row) => sweepOf(row)?.id ?? []))];
  return ids.map((id) => {
    const own = rows.filter((row) => sweepOf(row)?.id === id);
    const states = new Map(own.map((row) => [row.id, summaryOf(runs, row).state]));
    const file = readSweep(runs, id);
    return file ? sweepFromFile(file, states) : sweepFromLabels(runs, id, own);
  });
}

function readSweep({ directory }: Runs, id: string): SweepFile | undefined {
  const path = inside(directory, id, "trials.json");
  if (path === undefined) return undefined;
  try {
    const sweep = JSON.parse(readFileSync(path, "utf8")) as SweepFile | null;
    return sweep?.options?.parameters && Array.isArray(sweep.trials) ? sweep : undefined;
  } catch {
    return undefined; // It is damaged.
  }
}

const sweepFromFile = ({ id, options, trials }: SweepFile, states: ReadonlyMap<string, RunState>): Sweep => ({
  id,
  metric: options.metric,
  direction: options.direction,
  parameters: Object.keys(options.parameters),
  trials: trials.flatMap(({ values, value, members }) =>
    members.flatMap(({ run, value: own }) => {
      const state = run === undefined ? undefined : states.get(run);
      if (run === undefined || state === undefined) return [];
      const texts = Object.entries(values).map(([name, each]) => [name, JSON.stringify(each)]);
      return [{ run, state, values: Object.fromEntries(texts), result: finite(own ?? value ?? null) }];
    }),
  ),
});

function sweepFromLabels(runs: Runs, id: string, rows: readonly RunRow[]): Sweep {
  const settings = rows.map((row) => settingsOf(runs, row));
  const paths = [...new Set(settings.flatMap((each) => [...each.keys()]))];
  const parameters = paths.filter(
    (path) => !path.startsWith("sweep.") && new Set(settings.map((each) => each.get(path))).size > 1,
  );
  return {
    id,
    metric: "",
    parameters,
    trials: rows.map((row, i) => ({
      run: row.id,
      state: summaryOf(runs, row).state,
      result: null,
      values: Object.fromEntries(parameters.map((path) => [path, settings[i]?.get(path) ?? ""])),
    })),
  };
}
