/**
 * Runs as the page shows them: rows of the stats store, joined with what their directories say.
 *
 *     runs/ID/          the directory of a run, with its run.json
 *     runs/SWEEP/ID/    that of a trial
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { readRecord, runSettings, type Sweep as SweepFile } from "../config/index.ts";
import { countText, EspalierError, printable } from "../core/index.ts";
import {
  isAlive,
  openStatsStore,
  type RunRow,
  readHeartbeat,
  readWhy,
  type StatsStore,
} from "../metrics/index.ts";
import type { ControlState, RunState } from "./api.ts";
import { inside, invalid, withoutPasswords } from "./safety.ts";

export interface RunsOptions {
  /** The stats store, or its location: a file is opened as soon as it is there, and again where it is another one. */
  readonly store: StatsStore | string;
  /** The directory of runs. */
  readonly directory: string;
}

export class Runs {
  readonly directory: string;
  /** Of a store that is opened here. */
  readonly #given: string;
  #store: StatsStore;
  #opening: Promise<StatsStore> | undefined;
  /** Tells the file that is open from another one of its name; empty while none is. */
  #opened = "";
  /** Knows the runs that have a directory alone, and no value of them. */
  readonly #memory: StatsStore;
  #alone: ReadonlyMap<string, RunRow> = new Map();

  private constructor({ store, directory }: RunsOptions, memory: StatsStore) {
    this.directory = resolve(directory);
    this.#memory = memory;
    [this.#store, this.#given] = typeof store === "string" ? [memory, store] : [store, ""];
  }

  /** The path or URL of the stats store, without passwords. */
  get location(): string {
    return this.#store === this.#memory ? withoutPasswords(this.#given) : this.#store.location;
  }

  static async open(options: RunsOptions): Promise<Runs> {
    const runs = new Runs(options, await openStatsStore(":memory:"));
    await runs.rows();
    return runs;
  }

  /** All runs, newest first: those of the store, and those that have a directory alone. */
  async rows(): Promise<readonly RunRow[]> {
    if (this.#given !== "") await this.#open(identityOf(this.#given));
    const filed = this.#store === this.#memory ? [] : await this.#store.runs();
    const known = new Set(filed.map(({ id }) => id));
    const alone = namesIn(this.directory).flatMap((id) => (known.has(id) ? [] : (this.#rowIn(id) ?? [])));
    for (const row of alone) if (!this.#alone.has(row.id)) await this.#memory.startRun(row);
    this.#alone = new Map(alone.map((row) => [row.id, row]));
    return alone.length === 0 ? filed : [...filed, ...alone].sort((a, b) => b.startedAt - a.startedAt);
  }

  async #open(found: string): Promise<void> {
    if (found === this.#opened) return;
    const before = this.#store;
    this.#store = this.#memory;
    this.#opened = "";
    // Somebody has removed the runs.
    if (before !== this.#memory) await before.close();
    if (found === "") return;
    this.#opening ??= openStatsStore(this.#given).finally(() => {
      this.#opening = undefined;
    });
    this.#store = await this.#opening;
    this.#opened = found;
  }

  /** The id of a run by its id, the beginning of it, or its name. */
  async find(name: string): Promise<string> {
    await this.rows();
    const alone = [...this.#alone.values()].find((run) => run.id === name || run.name === name);
    if (alone) return alone.id;
    if (this.#store !== this.#memory) return (await this.#store.run(name)).id;
    throw new EspalierError("STATS_MISSING", `there is no stats store ${this.location}`, {
      fix: "espalier train makes one; of runs elsewhere give --store, or set ESPALIER_STORE: their SQLite file or postgres:// URL",
    });
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
    if (this.#opened !== "") await this.#store.close();
    await this.#memory.close();
  }
}

/** What is at a location, empty where nothing is. A database says itself what is wrong. */
function identityOf(location: string): string {
  if (location.includes("://")) return location;
  const file = statSync(location, { throwIfNoEntry: false });
  return file ? `${file.dev} ${file.ino}` : "";
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // It is not there yet.
  }
}

export function summaryOf(runs: Runs, row: RunRow) {
  const { config: _, outcome, heartbeat = 0, ...known } = row;
  const directory = outcome === "running" ? directoryOf(runs, row) : undefined;
  const beat = heartbeatIn(directory)?.wall ?? 0;
  return {
    ...known,
    state: stateOf(row, directory),
    heartbeat: Math.max(beat, heartbeat) || undefined,
    progress: progressOf(row),
    sweep: sweepOf(row),
  };
}

/** The directory of a run; undefined where it has none here. */
export function directoryOf({ directory }: Pick<Runs, "directory">, row: RunRow): string | undefined {
  const sweep = sweepOf(row);
  const own = directoryIn(directory, row.id);
  return own === undefined && sweep !== undefined ? directoryIn(directory, sweep, row.id) : own;
}

function directoryIn(root: string, ...names: readonly string[]): string | undefined {
  const found = inside(root, ...names);
  // Not a link to the directory of another run.
  return found?.endsWith(join(sep, ...names)) && existsSync(join(found, "run.json")) ? found : undefined;
}

function sweepOf({ config }: RunRow): string | undefined {
  const { sweep } = (config ?? {}) as { readonly sweep?: { readonly id?: unknown } };
  return typeof sweep?.id === "string" ? sweep.id : undefined;
}

function stateOf(row: RunRow, directory: string | undefined): RunState {
  if (row.outcome !== "running") return row.outcome;
  if (!isRunAlive(row, directory)) return "lost";
  return readControl(directory)?.state === "paused" ? "paused" : "running";
}

/** Milliseconds without a sign of life after which a run without a directory counts as lost, as `isAlive` has it. */
const PATIENCE = 120_000;

/** True where the process of a run is there, as far as can be seen. */
export function isRunAlive(row: RunRow, directory: string | undefined): boolean {
  if (row.outcome !== "running") return false;
  const beat = heartbeatIn(directory);
  if (beat) return isAlive(beat);
  // One that has just begun has not beaten yet.
  return Date.now() - Math.max(row.heartbeat ?? 0, row.startedAt) < PATIENCE;
}

function heartbeatIn(directory: string | undefined): ReturnType<typeof readHeartbeat> {
  try {
    const file = inside(directory, "heartbeat.json");
    return file === undefined ? undefined : readHeartbeat(file);
  } catch {
    return undefined; // Damaged: the rows of the store are what is left.
  }
}

/** What a run can be told, as its directory says; undefined where nothing listens. */
export function readControl(directory: string | undefined): ControlState | undefined {
  const state = readJson<ControlState>(directory, "control", "state.json");
  return typeof state?.state === "string" ? state : undefined;
}

/** A JSON document in a directory; undefined where there is none, or where it is damaged. */
function readJson<T>(directory: string | undefined, ...names: readonly string[]): T | null | undefined {
  const file = inside(directory, ...names);
  if (file === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8")) as T | null;
  } catch {
    return undefined;
  }
}

/** The share of the limit that is reached first. */
function progressOf({ outcome, limits, counters }: RunRow): number | undefined {
  if (outcome === "completed") return 1;
  const shares = Object.entries(limits).flatMap(([unit, total]) =>
    total > 0 ? [(counters[unit] ?? 0) / total] : [],
  );
  return shares.length > 0 ? Math.min(1, Math.max(...shares)) : undefined;
}

export async function readDetail(runs: Runs, id: string) {
  const row = await runs.row(id);
  const directory = directoryOf(runs, row);
  const file = configOf(runs, row);
  const latest = await runs.storeOf(id).latest(id);
  return {
    ...summaryOf(runs, row),
    /** The resolved configuration as YAML where the run has a directory, else the settings filed in the store. */
    config: withoutPasswords(
      file === undefined ? JSON.stringify(row.config, undefined, 2) : readFileSync(file, "utf8"),
    ),
    /** With their newest values: null where one is not finite, none where it is no number. */
    metrics: latest.map(({ key, category, name, axis, unit, value }) => ({
      key,
      category,
      name,
      axis,
      unit,
      last: value === undefined ? undefined : finite(value),
    })),
    /** False where there is no directory of this run here: no log, no checkpoints to look into, no control. */
    hasDirectory: directory !== undefined,
    /** False where it is in no stats store: no metrics, no evaluations, no marks. */
    isFiled: runs.isFiled(id),
    control: readControl(directory),
  };
}

const configOf = (runs: Runs, row: RunRow): string | undefined =>
  inside(directoryOf(runs, row), "config.yaml");

function settingsOf(runs: Runs, row: RunRow): ReadonlyMap<string, string> {
  const read = () => {
    try {
      return runSettings(configOf(runs, row), row.config);
    } catch {
      return runSettings(undefined, row.config); // Somebody has edited the file: what was filed is still known.
    }
  };
  return new Map([...read()].map(([path, value]) => [path, withoutPasswords(value)]));
}

function differing(settings: readonly ReadonlyMap<string, string>[]): readonly string[] {
  const paths = new Set(settings.flatMap((each) => [...each.keys()]));
  return [...paths].filter((path) => new Set(settings.map((each) => each.get(path))).size > 1);
}

/** JSON has no other numbers. */
export const finite = (value: number | null | undefined): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

/** The part of metrics that is read, and how finely. */
interface SeriesQuery extends NonNullable<Parameters<StatsStore["buckets"]>[2]> {
  readonly curves: readonly { readonly run: string; readonly key: string }[];
}

/**
 * Metrics of runs over steps or time, thinned by the database: each point stands for the values between two pixels.
 * Arrays have the same length; null where no value there was finite.
 */
export function readSeries(runs: Runs, { curves, ...choice }: SeriesQuery) {
  return Promise.all(
    curves.map(async ({ run, key }) => {
      const buckets = await runs.storeOf(run).buckets(run, key, choice);
      const sum = (of: "count" | "notFinite") => buckets.reduce((all, bucket) => all + bucket[of], 0);
      return {
        run,
        key,
        /** The step, or milliseconds since 1970, of the last value of each point. */
        x: buckets.map(({ x }) => x),
        min: buckets.map(({ min }) => min),
        max: buckets.map(({ max }) => max),
        mean: buckets.map(({ mean }) => mean),
        /** Values that the points stand for, those that are not finite among them. */
        values: sum("count"),
        notFinite: sum("notFinite"),
      };
    }),
  );
}

/** Runs, and the settings in which they differ: by path a value for each run, null where it has none. */
export async function readComparison(runs: Runs, ids: readonly string[]) {
  const rows = await Promise.all(ids.map((id) => runs.row(id)));
  const settings = rows.map((row) => settingsOf(runs, row));
  const values = (path: string) => settings.map((each) => each.get(path) ?? null);
  return {
    runs: rows.map((row) => summaryOf(runs, row)),
    settings: Object.fromEntries(differing(settings).map((path) => [path, values(path)] as const)),
  };
}

/** The hooks of a run: their order with reasons, how long they took, and which are enabled. */
export async function readHooks(runs: Runs, id: string) {
  const directory = directoryOf(runs, await runs.row(id));
  const file = inside(directory, "plan.txt");
  const states = readControl(directory)?.hooks ?? {};
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
    /** The plan as text, with the reason for each place. Missing without a directory. */
    plan: file === undefined ? undefined : readFileSync(file, "utf8"),
    hooks: [...timings, ...untimed.map((hook) => ({ hook, ...none }))].map(({ hook, ...times }) => ({
      name: hook,
      enabled: states[hook]?.enabled ?? switched.get(hook) ?? true,
      ...times,
    })),
  };
}

export async function explainHook(runs: Runs, id: string, hook: string, at?: number) {
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

/** Sweeps with their trials. What they look for, and its results, is known where the sweep's directory is here. */
export async function listSweeps(runs: Runs) {
  const rows = await runs.rows();
  const ids = [...new Set(rows.flatMap((row) => sweepOf(row) ?? []))];
  return ids.map((id) => {
    const own = rows.filter((row) => sweepOf(row) === id);
    const settings = own.map((row) => settingsOf(runs, row));
    const found = readJson<Partial<SweepFile>>(runs.directory, id, "trials.json");
    const options = found?.options?.parameters && Array.isArray(found.trials) ? found.options : undefined;
    const results = new Map(
      (options && found?.trials)?.flatMap(({ value, members }) =>
        members.map((member) => [member.run, member.value ?? value] as const),
      ),
    );
    const parameters = options
      ? Object.keys(options.parameters)
      : differing(settings).filter((path) => !path.startsWith("sweep."));
    return {
      id,
      metric: options?.metric ?? "",
      direction: options?.direction,
      parameters,
      trials: own.map((row, i) => ({
        run: row.id,
        state: summaryOf(runs, row).state,
        values: Object.fromEntries(parameters.map((path) => [path, settings[i]?.get(path) ?? ""] as const)),
        result: finite(results.get(row.id)),
      })),
    };
  });
}
