/**
 * The directory of a run:
 *
 *     runs/NAME-20260131-120000-a1b2c3/
 *       run.json         what it is: its source, versions, the hash of its configuration, how it ended
 *       config.yaml      the resolved configuration: `espalier resume` and `espalier evaluate` need no other file of it
 *       plan.txt         the order of its hooks, and why
 *       run.log          messages and metrics, for people
 *       metrics.jsonl    metrics, for programs
 *       heartbeat.json   that it is alive, and where it is
 *       control/         what others ask of it while it trains, and its answers
 *       checkpoints/     the newest whole one is where it goes on
 *       replays/         recorded episodes; other relative paths of what the run writes begin at its directory too
 *     runs/stats.db      the stats store that all runs share
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { parse, stringify } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { checkpointHook } from "../checkpoint/index.ts";
import {
  didYouMean,
  EspalierError,
  errorText,
  hex,
  makeDirectory,
  printable,
  sha256,
  writeWhole,
} from "../core/index.ts";
import {
  consoleSink,
  controlHook,
  jsonlSink,
  Logger,
  logFileSink,
  type MetricsHookOptions,
  metricsHook,
  newRunId,
  openStatsStore,
} from "../metrics/index.ts";
import type { RolloutTask } from "../rollout/index.ts";
import { Trainer, type TrainingResult } from "../trainer/index.ts";
import {
  type BuiltRun,
  buildRun,
  checkpointsIn,
  metricsIn,
  nameOf,
  readConfig,
  topText,
} from "./run-config.ts";
import { type ConfigSource, configError } from "./source.ts";

/** The file `run.json`. */
export interface RunRecord {
  readonly id: string;
  readonly name: string;
  readonly espalier: string;
  readonly created: string;
  /** The configuration's file and the directory that names in it begin at, from the run's directory. */
  readonly source: string;
  readonly base: string;
  readonly overrides: readonly string[];
  readonly configHash: string;
  /** The stats store; a file that the configuration does not name in full, from the run's directory. */
  readonly stats: string | false;
  /** Filed in the stats store beside the run's settings: of which sweep it is a trial. */
  readonly labels?: Labels;
  readonly outcome?: string | undefined;
  readonly reason?: string | undefined;
}

type RunNames = NonNullable<MetricsHookOptions["run"]>;
type Labels = NonNullable<RunNames["labels"]>;

/** A run that is ready to train. */
export interface PreparedRun {
  readonly id: string;
  readonly directory: string;
  readonly trainer: Trainer;
  /** Trains to the end, and files how it ended. */
  train(): Promise<TrainingResult>;
}

/** How a run is started. */
export interface StartOptions {
  readonly overrides?: readonly string[];
  /** Shows nothing but problems. Default: false. */
  readonly quiet?: boolean;
  /** Of a new run: values that are filed in the stats store beside its settings. */
  readonly labels?: Labels;
}

/**
 * The resolved configuration as text. What a program made is written by its own `toJSON`, as agents have it, or by its
 * kind alone (models, functions). The same before the run is built and after it.
 */
export function resolvedText(config: unknown): string {
  const around = new Set<unknown>();
  const memberOf = (value: object, name: string): unknown => {
    try {
      return Reflect.get(value, name);
    } catch {
      return undefined; // A getter that has nothing to give before the run begins.
    }
  };
  const plain = (value: unknown): unknown => {
    if (typeof value === "function") return `<function ${value.name}>`;
    if (typeof value !== "object" || value === null) return value;
    if (around.has(value)) return "<again>";
    const prototype = Object.getPrototypeOf(value);
    if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null)
      return `<${value.constructor?.name ?? "object"}>`;
    if ("toJSON" in value && typeof value.toJSON === "function") return plain(value.toJSON());
    around.add(value);
    const members = Array.isArray(value)
      ? value.map(plain)
      : Object.fromEntries(Object.keys(value).map((name) => [name, plain(memberOf(value, name))]));
    around.delete(value);
    return members;
  };
  return stringify(plain(config), { aliasDuplicateObjects: false, lineWidth: 0 });
}

export const configHash = (config: unknown): string => {
  const hash = sha256();
  hash.update(new TextEncoder().encode(resolvedText(config)));
  return hex(hash.digest());
};

/** Makes a new run of a configuration file: its directory, with everything that it begins with. */
export async function createRun(file: string, options: StartOptions = {}): Promise<PreparedRun> {
  const { overrides = [] } = options;
  const source = await readConfig(file, overrides);
  // Before the run is built: what a module made shows more of itself then.
  const hash = configHash(source.value);
  const root = resolve(topText(source, "directory") ?? "runs");
  const id = newRunId(nameOf(source), Date.now());
  const directory = join(root, id);
  const built = await buildRun(source, undefined, directory);
  const { config, name } = built;
  const record: RunRecord = {
    id,
    name,
    espalier: manifest.version,
    created: new Date().toISOString(),
    source: relative(directory, resolve(file)),
    base: relative(directory, dirname(resolve(file))),
    overrides,
    configHash: hash,
    stats: storedStats(config.stats, root, directory),
    ...(options.labels && { labels: options.labels }),
  };
  const run = await prepare(directory, record, built, options);
  writeConfig(directory, record, { name, ...config });
  return run;
}

/** Writes a run's configuration, and its record last: without it, a directory of a process that was killed is no run. */
function writeConfig(directory: string, record: RunRecord, config: unknown): void {
  writeWhole(join(directory, "config.yaml"), resolvedText(config));
  writeRecord(directory, record);
}

/** The stats store of runs in the directory `root`. */
export const statsOf = (given: string | false | undefined, root: string): string | false => {
  if (given === false || given?.includes("://")) return given;
  return resolve(given ?? join(root, "stats.db"));
};

/** The same as `run.json` has it: it moves with the directory of all runs. */
function storedStats(given: string | false | undefined, root: string, directory: string): string | false {
  const stats = statsOf(given, root);
  const isFixed = stats === false || stats.includes("://") || isAbsolute(given || "");
  return isFixed ? stats : relative(directory, stats);
}

/** Where a configuration is, and where names of files in it begin. */
export interface ConfigPlace {
  readonly file: string;
  readonly base: string;
  /** Of a run: its directory. */
  readonly directory?: string;
}

/** The configuration of a file, or of a run by its directory, id or name. */
export function locateConfig(from: string, root?: string): ConfigPlace {
  if (/\.(ya?ml|json|[cm]?[jt]s)$/i.test(from) && !existsSync(join(from, "run.json")))
    return { file: from, base: dirname(from) };
  const directory = findRunDirectory(from, root);
  const { source, base } = readRecord(directory);
  const origin = resolve(directory, source);
  // A module is read again where it was: no file can hold what it makes.
  const file = isText(origin) ? join(directory, "config.yaml") : origin;
  return { file, base: resolve(directory, base), directory };
}

/** The configuration of the run in whose directory, or in a directory of it, a path is. */
export function configAround(path: string): ConfigPlace | undefined {
  const full = resolve(path);
  const all = [full, dirname(full), dirname(dirname(full))];
  const directory = all.find((at) => existsSync(join(at, "run.json")));
  return directory === undefined ? undefined : locateConfig(directory);
}

const isText = (file: string): boolean => /\.(ya?ml|json)$/i.test(file);

export const configAt = (
  { file, directory }: ConfigPlace,
  overrides: readonly string[] = [],
): Promise<ConfigSource> =>
  directory === undefined
    ? readConfig(file, overrides)
    : storedConfig(directory, readRecord(directory), overrides);

/**
 * Goes on with a run from its newest whole checkpoint, by the configuration in its directory. Overrides become part of
 * that configuration once the checkpoint has taken them; a run that is refused stays as it was.
 */
export async function reopenRun(directory: string, options: StartOptions = {}): Promise<PreparedRun> {
  const { overrides = [] } = options;
  const record = readRecord(directory);
  const source = await storedConfig(directory, record, overrides);
  const isChanged = overrides.length > 0;
  const hash = isChanged ? configHash(source.value) : record.configHash;
  const next = {
    ...record,
    overrides: [...record.overrides, ...overrides],
    configHash: hash,
    // Until it has ended again.
    outcome: undefined,
    reason: undefined,
  };
  const built = await buildRun(source, resolve(directory, record.base), resolve(directory));
  return prepare(directory, next, { ...built, name: record.name }, options, () => {
    if (isChanged) writeConfig(directory, next, source.value);
    else writeRecord(directory, next);
  });
}

/** The configuration of a run: that of its directory, or the module that it was, which no file can hold. */
export async function storedConfig(
  directory: string,
  record: RunRecord,
  overrides: readonly string[] = [],
): Promise<ConfigSource> {
  const origin = resolve(directory, record.source);
  if (isText(origin)) return readConfig(join(directory, "config.yaml"), overrides);
  const source = await readConfig(origin, [...record.overrides, ...overrides]);
  if (overrides.length > 0 || configHash(source.value) === record.configHash) return source;
  throw new EspalierError("CONFIG_CHANGED", `${origin} is another configuration than that of ${record.id}`, {
    fix: "bring the file back to what it was, or start a new run from it",
  });
}

/**
 * Makes the trainer of a run. What can be wrong with its configuration is found before anything is in its directory.
 * `onResume` is called where a run goes on, once it is restored.
 */
async function prepare(
  directory: string,
  record: RunRecord,
  built: BuiltRun,
  { quiet = false }: StartOptions,
  onResume?: () => void,
): Promise<PreparedRun> {
  const { id, name, labels } = record;
  const inside = (file: string): string => join(directory, file);
  const logger = told(
    built.source,
    "sinks",
    () =>
      new Logger({
        sinks: [
          ...(quiet ? [] : [consoleSink()]),
          logFileSink(inside("run.log")),
          jsonlSink(inside("metrics.jsonl")),
          ...built.sinks,
        ],
        spill: inside("spill"),
      }),
  );
  plannedTrainer(built); // Hooks that contradict each other are found before there is a stats store.
  const { stats } = record;
  const isFile = stats !== false && !stats.includes("://");
  const statsStore = await told(built.source, built.config.stats === undefined ? "directory" : "stats", () =>
    stats === false ? undefined : openStatsStore(isFile ? resolve(directory, stats) : stats),
  );
  const run = { id, name, labels, continues: onResume !== undefined };
  const trainer = trainerIn(directory, run, built, { logger, ...(statsStore && { statsStore }) });
  told(built.source, "directory", () => makeDirectory(inside("checkpoints")));
  writeFileSync(inside("plan.txt"), `${trainer.hooks.plan().text}\n`);
  let isRefused = onResume !== undefined;
  if (onResume) {
    let warn: (text: string) => void;
    trainer.registerHook({
      name: "run.resume",
      // Before all others but those that restore.
      priority: Number.MAX_VALUE,
      onRegister: (host) => {
        warn = host.warn;
      },
      onTrainingStart: ({ counters }) => {
        isRefused = false;
        onResume();
        if (counters.batches === 0) warn("this run has no checkpoint to go on from: it begins anew");
      },
    });
  }
  return {
    id,
    directory,
    trainer,
    train: async () => {
      let result: TrainingResult | undefined;
      try {
        result = await trainer.train();
        return result;
      } finally {
        const { outcome, reason } = result ?? trainer.result ?? { outcome: "failed", reason: undefined };
        if (!isRefused) writeRecord(directory, { ...record, outcome, reason });
        await statsStore?.close();
        // Workers of the run end with it.
        await (built.trainer.task as Partial<Pick<RolloutTask, "close">>).close?.();
      }
    },
  };
}

/** The trainer of a run, with the hooks that every run has. It writes nothing before it trains. */
function trainerIn(
  directory: string,
  run: RunNames,
  { trainer: options, metrics, checkpoints, config: { control = true }, source }: BuiltRun,
  outputs: Pick<MetricsHookOptions, "logger" | "statsStore">,
): Trainer {
  const hooks = [
    ...(options.hooks ?? []),
    metricsHook({
      ...metricsIn(directory, metrics),
      ...outputs,
      run,
    }),
    ...(checkpoints ? [checkpointHook(checkpointsIn(directory, checkpoints))] : []),
    ...(control ? [controlHook({ directory })] : []),
  ];
  return told(source, "hooks", () => {
    const trainer = new Trainer({ ...options, hooks });
    trainer.hooks.check();
    return trainer;
  });
}

/** What `make` makes of a member of the configuration, which is named where it fails. */
function told<T>(source: ConfigSource, member: string, make: () => T): T {
  const located = (error: unknown): never => {
    const isOurs = error instanceof EspalierError;
    if (!isOurs && !(error instanceof Error && "syscall" in error)) throw error;
    const [message, fix] = isOurs ? [errorText(error), error.fix] : [error.message, undefined];
    throw configError(source, [{ path: [member], message: printable(message, 2000), fix }]);
  };
  try {
    const made = make();
    return made instanceof Promise ? (made.catch(located) as T) : made;
  } catch (error) {
    return located(error);
  }
}

/** The trainer that a run would have, for a look at its plan: there is no directory, and nothing is logged. */
export function plannedTrainer(built: BuiltRun): Trainer {
  const { name, config } = built;
  const directory = join(resolve(config.directory ?? "runs"), "planned");
  return trainerIn(directory, { id: "planned", name }, built, { logger: new Logger({ sinks: [] }) });
}

const writeRecord = (directory: string, record: RunRecord): void =>
  writeWhole(join(directory, "run.json"), `${JSON.stringify(record, undefined, 2)}\n`);

/** What a run's directory says of it. */
export function readRecord(directory: string): RunRecord {
  const file = join(directory, "run.json");
  try {
    const record = parse(readFileSync(file, "utf8")) as RunRecord | null;
    const { id, name, source, base, overrides } = record ?? {};
    if ([id, name, source, base].every((text) => typeof text === "string") && Array.isArray(overrides))
      return record as RunRecord;
    throw new EspalierError("RUN_MISSING", `${file} is damaged`);
  } catch (cause) {
    const why = existsSync(file) ? ": its run.json is damaged" : "";
    throw new EspalierError("RUN_MISSING", `${printable(directory)} is no directory of a run${why}`, {
      fix: "give the directory that espalier train made, with its run.json",
      cause,
    });
  }
}

/** The name of a run; undefined where its `run.json` is damaged. */
function nameIn(directory: string): string | undefined {
  try {
    return readRecord(directory).name;
  } catch {
    return undefined;
  }
}

/** The directory of a run, by its path, its id, the beginning of its id, or its name (the newest of that name). */
export function findRunDirectory(run: string, root = "runs"): string {
  if (existsSync(join(run, "run.json"))) return run;
  const all = existsSync(root)
    ? readdirSync(root)
        .filter((id) => existsSync(join(root, id, "run.json")))
        .sort()
    : [];
  const named = all.filter((id) => id === run || nameIn(join(root, id)) === run);
  const found = named.length > 0 ? named.slice(-1) : all.filter((id) => id.startsWith(run));
  if (found.length === 1) return join(root, found[0] as string);
  if (found.length > 1)
    throw new EspalierError("RUN_AMBIGUOUS", `${found.length} runs begin with "${printable(run)}"`, {
      fix: `give more of the id: ${found.slice(0, 5).join(", ")}`,
    });
  const names = all.map((id) => basename(id));
  throw new EspalierError(
    "RUN_MISSING",
    `there is no run "${printable(run)}" in ${root}${didYouMean(run, names)}`,
    {
      fix: all.length > 0 ? `there are ${names.slice(-5).join(", ")}` : "espalier train makes one",
    },
  );
}
