/**
 * A sweep: runs of one configuration with other values, compared by a metric.
 *
 *     planSweep      reads the member `sweep`, checks it, builds the run with values at their limits       before training
 *     draw           the values of each trial: a grid, or draws that depend on the seed and the trial alone
 *     runSweep       trains every trial with every seed; halving: to a budget of epochs, then the best go on
 *       trainMember  one run of one trial, until it ends or is paused: by default in this process
 *     save           trials.json, where a sweep goes on from, and optuna.log, which Optuna reads, after every change
 *
 *     runs/NAME-sweep-20260131-120000-a1b2c3/
 *       trials.json  optuna.log
 *       NAME-t003-s1-20260131-120000-d4e5f6/     a run of trial 3 with seed 1
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import {
  checkMetricName,
  didYouMean,
  EspalierError,
  errorText,
  isPlainObject,
  makeDirectory,
  type Options,
  option,
  optionProblems,
  resolveOptions,
  type Settings,
  shown,
  writeWhole,
} from "../core/index.ts";
import { newRunId } from "../metrics/index.ts";
import { RandomStreams } from "../random/index.ts";
import { at } from "../schedule/index.ts";
import { type BuiltRun, buildRun, readConfig } from "./run-config.ts";
import { configHash, createRun, readRecord, reopenRun, statsOf } from "./run-directory.ts";
import { type ConfigSource, configError, type Path, type Problem, parseOverride } from "./source.ts";

const rangeTable = {
  from: option.number({ required: true }),
  to: option.number({ required: true }),
  scale: option.oneOf(["linear", "log"], {}),
  step: option.number({ above: 0 }),
  count: option.integer({ min: 2, max: 10_000 }),
};
type Range = Options<typeof rangeTable>;

/** The values of a parameter: those of a list, or numbers of a range, where a step gives evenly spaced ones. */
export type Parameter = readonly unknown[] | Range;

const sweepTable = {
  metric: option.text({ required: true, doc: "The metric in full: validation/loss." }),
  direction: option.oneOf(["minimize", "maximize"], { default: "minimize", doc: "Which values are better." }),
  method: option.oneOf(["grid", "random", "halving"], { default: "random", doc: "How trials are chosen." }),
  trials: option.integer({ min: 1, max: 10_000, doc: "The number of trials. Default: 20; of a grid, all." }),
  seeds: option.integer({ min: 1, max: 1000, default: 1, doc: "Runs of a trial, with seeds of their own." }),
  seed: option.integer({ min: 0, max: 2 ** 32 - 1, default: 0, doc: "The seed of the draws." }),
  reduction: option.integer({ min: 2, default: 3, doc: "Of halving: one of so many trials goes on." }),
  parameters: option.made<Readonly<Record<string, Parameter>>, { required: true; doc: string }>(
    "an object of values by path: { task.learningRate: { from: 1e-5, to: 1e-2, scale: log } }",
    (value) => isPlainObject(value) && Object.keys(value).length > 0,
    { required: true, doc: "What is tried, by path." },
  ),
};

export type SweepOptions = Options<typeof sweepTable>;

/** A run of a trial with one of its seeds. */
interface MemberState {
  readonly seed: number;
  /** The name of its directory within the sweep's. */
  readonly run?: string;
  /** The epochs after which it was paused; undefined where it has ended. */
  readonly pausedAt?: number;
  readonly value?: number;
}

/** A trial, as `trials.json` has it. */
export interface Trial {
  readonly number: number;
  readonly values: Readonly<Record<string, unknown>>;
  readonly state: "waiting" | "running" | "complete" | "pruned" | "failed";
  /** The mean of the metric over seeds. */
  readonly value?: number;
  /** Means at the rungs of halving, by epochs. */
  readonly rungs: Readonly<Record<string, number>>;
  readonly members: readonly MemberState[];
  readonly started?: string;
  readonly ended?: string;
  readonly error?: string;
}

/** A sweep and its trials: the file `trials.json`. */
export interface Sweep {
  readonly version: 1;
  readonly id: string;
  readonly name: string;
  readonly file: string;
  readonly overrides: readonly string[];
  readonly configHash: string;
  readonly stats: string | false;
  readonly options: Omit<Settings<typeof sweepTable>, "trials">;
  /** Epochs at which halving compares, the last of them the end of a run. Empty for other methods. */
  readonly rungs: readonly number[];
  readonly trials: readonly Trial[];
}

export interface PlannedSweep {
  readonly directory: string;
  readonly sweep: Sweep;
}

/** One run of a trial, for who trains it. */
export interface SweepMember {
  readonly file: string;
  readonly overrides: readonly string[];
  /** The directory that its run's directory is made in. */
  readonly directory: string;
  readonly name: string;
  readonly labels: { readonly sweep: { readonly id: string; readonly trial: number } };
  /** The epochs after which it is paused. Default: it trains to its end. */
  readonly pauseAt?: number;
}

export interface MemberResult {
  readonly run: string;
  /** True where it was interrupted from outside: it can go on from there. */
  readonly interrupted: boolean;
  readonly paused: boolean;
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Reads and checks a sweep. With `resume` it is the newest one of this configuration that was begun, if there is one.
 * Nothing is trained or written.
 */
export async function planSweep(
  file: string,
  overrides: readonly string[] = [],
  changes: Partial<SweepOptions> = {},
  resume = false,
): Promise<PlannedSweep> {
  const source = await readConfig(file, overrides);
  const config = (isPlainObject(source.value) ? source.value : {}) as Readonly<Record<string, unknown>>;
  const given: unknown =
    config.sweep === undefined || isPlainObject(config.sweep)
      ? { ...(config.sweep as object | undefined), ...changes }
      : config.sweep;
  const problems = sweepProblems(given);
  if (problems.length > 0) throw configError(source, problems);
  const { trials, ...options } = resolveOptions("sweep", given as SweepOptions, sweepTable);
  const values = draw(options, trials);

  const training = (config.training ?? {}) as { readonly seed?: number };
  const built = await checkValues(source, overrides, options, values);
  const rungs = rungsOf(options, values.length, built.trainer.config?.epochs ?? 1);
  if (rungs.length > 0 && built.checkpoints === false)
    throw configError(source, [
      { path: ["checkpoints"], message: "halving pauses runs", fix: "leave out checkpoints: false" },
    ]);
  const root = resolve(built.config.directory ?? "runs");
  const hash = configHash({ ...config, directory: undefined, sweep: options });
  const found = resume ? newestSweep(root, hash, built.name) : undefined;
  const seeds = Array.from({ length: options.seeds }, (_, i) => (training.seed ?? 0) + i);
  const fresh = values.map((one, number): Trial => {
    const members = seeds.map((seed) => ({ seed }));
    return { number, values: one, state: "waiting", rungs: {}, members };
  });
  if (found) {
    const known = found.sweep.trials;
    if (options.method !== "random" && known.length !== fresh.length)
      throw new EspalierError("SWEEP_CHANGED", `${found.sweep.id} has ${known.length} trials`, {
        fix: "give as many, or start anew without --resume",
      });
    return { ...found, sweep: { ...found.sweep, trials: [...known, ...fresh.slice(known.length)] } };
  }
  const id = newRunId(`${built.name}-sweep`, Date.now());
  return {
    directory: join(root, id),
    sweep: {
      version: 1,
      id,
      name: built.name,
      file: resolve(file),
      overrides,
      configHash: hash,
      stats: statsOf(built.config.stats, root),
      options,
      rungs,
      trials: fresh,
    },
  };
}

/** Everything that is wrong with a sweep's options, and with its parameters. */
function sweepProblems(given: unknown): readonly Problem[] {
  const at = (path: Path, message: string, fix?: string): Problem => ({
    path: ["sweep", ...path],
    message,
    fix,
  });
  if (!isPlainObject(given)) return [at([], "it is not an object", "give { metric, parameters }")];
  const said = (kind: string, value: object, table: object, path: Path): Problem[] =>
    optionProblems(kind, value, table as typeof sweepTable).map(({ path: inner, error }) =>
      at([...path, ...inner], errorText(error), error.fix),
    );
  const problems = said("sweep", given, sweepTable, []);
  const { metric, method, parameters, seeds = 1 } = given as Partial<SweepOptions>;
  if (typeof metric === "string" && metric !== "")
    try {
      checkMetricName("sweep: metric", metric);
    } catch (error) {
      const wrong = error as EspalierError;
      problems.push(at(["metric"], errorText(wrong), wrong.fix));
    }
  for (const [name, values] of Object.entries(isPlainObject(parameters) ? parameters : {})) {
    const path = ["parameters", name];
    const wrong = (message: string, fix?: string) => problems.push(at(path, message, fix));
    try {
      parseOverride(`${name}=0`);
    } catch {
      wrong(`"${name}" is no path`, "write it as --set does: task.learningRate");
    }
    if (name === "training.seed" && seeds > 1) wrong("seeds are given too", "leave out one of them");
    if (/^(directory|stats|name|sweep)\b/.test(name)) wrong("a sweep decides it", "try another path");
    if (Array.isArray(values)) {
      if (values.length === 0) wrong("the list is empty", "give values");
      continue;
    }
    if (!isPlainObject(values) || "use" in values) {
      wrong(`it is ${shown(values)}`, "give a list of values, or { from, to }");
      continue;
    }
    const own = said(name, values, rangeTable, path);
    problems.push(...own);
    if (own.length > 0) continue;
    const { from, to, scale, step, count } = values as unknown as Range;
    if (!(to > from)) wrong(`to is ${to}, and from is ${from}`, "give a greater one");
    if (scale === "log" && !(from > 0)) wrong(`from is ${from} on a log scale`, "give a number above 0");
    if (scale === "log" && step !== undefined && !(step === 1 && Number.isInteger(from)))
      wrong("on a log scale step can only be 1, from a whole number on", "leave out step");
    const points = step !== undefined && scale !== "log" ? (to - from) / step : (count ?? 0);
    if (points > 10_000) wrong(`it has ${Math.floor(points)} values`, "give a greater step");
    if (method === "grid" && points === 0) wrong("a grid needs its points", "give step or count");
  }
  if (method === "grid" && problems.length === 0) {
    const size = Object.values(parameters ?? {}).reduce((all, one) => all * pointsOf(one).length, 1);
    if (size > 10_000) problems.push(at(["parameters"], `the grid has ${size} points`, "try fewer values"));
  }
  return problems;
}

/** Numbers are rounded to what people read: the value in the file is the one that is trained with. */
const rounded = (value: number): number => Number(value.toPrecision(6));

/** The number of a range at a share from 0 to 1 of it, on its scale. */
function numberAt({ from, to, scale, step }: Range, share: number): number {
  const value = scale === "log" ? from * (to / from) ** share : from + share * (to - from);
  const near = scale === "log" && step === 1 ? Math.round(value) : rounded(value);
  return Math.min(to, Math.max(from, near));
}

/** The values that a grid has of a parameter, or a draw chooses from; none for a continuous range. */
function pointsOf(parameter: Parameter): readonly unknown[] {
  if (!isRange(parameter)) return parameter;
  const { from, to, step, scale, count } = parameter;
  if (step !== undefined && scale !== "log")
    return Array.from({ length: Math.floor((to - from) / step + 1e-9) + 1 }, (_, i) =>
      Number((from + i * step).toPrecision(12)),
    );
  return Array.from({ length: count ?? 0 }, (_, i) => numberAt(parameter, i / ((count ?? 2) - 1)));
}

const isRange = (parameter: Parameter): parameter is Range => !Array.isArray(parameter);

function draw({ method, seed, parameters }: Sweep["options"], trials: number | undefined): Trial["values"][] {
  const names = Object.keys(parameters);
  if (method === "grid") {
    let all: Trial["values"][] = [{}];
    for (const name of names) {
      const points = pointsOf(parameters[name] as Parameter);
      all = all.flatMap((one) => points.map((value) => ({ ...one, [name]: value })));
    }
    return all.slice(0, trials);
  }
  // A stream for each trial and parameter: more of either change no draw.
  const streams = new RandomStreams(seed);
  const drawn = (name: string, trial: number): unknown => {
    const parameter = parameters[name] as Parameter;
    const stream = streams.get(`sweep.${trial}.${name}`);
    const points = pointsOf(parameter);
    return points.length > 0
      ? points[stream.integer(points.length)]
      : numberAt(parameter as Range, stream.uniform());
  };
  return Array.from({ length: trials ?? 20 }, (_, trial) =>
    Object.fromEntries(names.map((name) => [name, drawn(name, trial)])),
  );
}

const overridesOf = (values: Trial["values"]): string[] =>
  Object.entries(values).map(([path, value]) => `${path}=${JSON.stringify(value)}`);

/**
 * Builds the run with the values of the first trial and with those at the limits, so that unknown paths and values that
 * do not fit are told before anything is trained.
 */
async function checkValues(
  source: ConfigSource,
  overrides: readonly string[],
  { parameters }: Sweep["options"],
  trials: readonly Trial["values"][],
): Promise<BuiltRun> {
  const limits = (name: string): readonly unknown[] => {
    const parameter = parameters[name] as Parameter;
    return isRange(parameter) ? [parameter.from, pointsOf(parameter).at(-1) ?? parameter.to] : parameter;
  };
  const names = Object.keys(parameters);
  const most = Math.min(16, Math.max(...names.map((name) => limits(name).length)));
  const cases = Array.from({ length: most }, (_, i) =>
    Object.fromEntries(names.map((name) => [name, limits(name)[i % limits(name).length]])),
  );
  const paths = names.map((name) => ({ name, path: parseOverride(`${name}=0`).path.join(".") }));
  let first: BuiltRun | undefined;
  for (const values of [trials[0] as Trial["values"], ...cases]) {
    const changed = await readConfig(source.file, [...overrides, ...overridesOf(values)]);
    const place = (path: Path): string => {
      const text = `${path.join(".")}.`;
      const parameter = paths.find((one) => text.startsWith(`${one.path}.`));
      return parameter ? source.place(["sweep", "parameters", parameter.name]) : changed.place(path);
    };
    const built = await buildRun({ ...changed, place });
    first ??= built;
  }
  return first as BuiltRun;
}

/** Epochs at which halving compares: each `reduction` times those before, the last of them the whole run. */
function rungsOf({ method, reduction }: Sweep["options"], trials: number, epochs: number): readonly number[] {
  if (method !== "halving") return [];
  if (!Number.isFinite(epochs))
    throw new EspalierError("SWEEP_EPOCHS", "halving needs to know the epochs of a whole run", {
      fix: "give training.epochs, or use --method random",
    });
  const last = Math.floor(Math.log(trials) / Math.log(reduction) + 1e-9);
  const all = Array.from({ length: last + 1 }, (_, i) =>
    Math.max(1, Math.ceil(epochs / reduction ** (last - i))),
  );
  return [...new Set(all)];
}

function newestSweep(root: string, hash: string, name: string): PlannedSweep {
  const all = (existsSync(root) ? readdirSync(root) : [])
    .filter((id) => existsSync(join(root, id, "trials.json")))
    .map((id) => ({ directory: join(root, id), sweep: readSweep(join(root, id)) }))
    .filter(({ sweep }) => sweep.name === name)
    .sort((a, b) => (a.sweep.id < b.sweep.id ? -1 : 1));
  const same = all.filter(({ sweep }) => sweep.configHash === hash).at(-1);
  if (same) return same;
  const newest = all.at(-1);
  throw newest
    ? new EspalierError("SWEEP_CHANGED", `${newest.sweep.id} is of another configuration`, {
        fix: "bring the file and the options back to what they were, or start anew without --resume",
      })
    : new EspalierError("SWEEP_MISSING", `there is no sweep of ${name} in ${root}`, {
        fix: "start one without --resume",
      });
}

function readSweep(directory: string): Sweep {
  const file = join(directory, "trials.json");
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Sweep;
  } catch (cause) {
    throw new EspalierError("SWEEP_DAMAGED", `${file} cannot be read`, { fix: "move it away", cause });
  }
}

export interface RunSweepOptions {
  /** Trains a member. Default: `trainMember`, in this process. */
  readonly train?: (member: SweepMember) => Promise<MemberResult>;
  readonly parallel?: number;
  /** Aborted where the sweep is to end: no further run begins. */
  readonly signal?: AbortSignal;
  readonly onChange?: (sweep: Sweep, what: string) => void;
}

/** Trains what is left of a sweep, and gives it as it is then. It can be interrupted and gone on with at any moment. */
export async function runSweep(
  { directory, sweep }: PlannedSweep,
  { train = trainMember, parallel = 1, signal, onChange }: RunSweepOptions = {},
): Promise<Sweep> {
  const { options, rungs } = sweep;
  const trials = [...sweep.trials];
  const current = (): Sweep => ({ ...sweep, trials });
  const change = (number: number, changes: Partial<Trial>, what?: string): void => {
    trials[number] = { ...(trials[number] as Trial), ...changes };
    save(directory, current());
    if (what !== undefined) onChange?.(current(), `trial ${number}: ${what}`);
  };
  makeDirectory(directory);
  save(directory, current());
  let interrupted = false;

  /** Trains one member up to a budget, where it is not there yet. */
  const advance = async (number: number, index: number, pauseAt: number | undefined): Promise<void> => {
    const trial = trials[number] as Trial;
    const { seed, pausedAt, value } = trial.members[index] as MemberState;
    const isThere =
      value !== undefined && (pausedAt === undefined || (pauseAt !== undefined && pausedAt >= pauseAt));
    interrupted ||= signal?.aborted === true;
    if (isThere || trial.state === "failed" || interrupted) return;
    const name = `${sweep.name}-t${String(number).padStart(3, "0")}-s${seed}`;
    const upTo = pauseAt === undefined ? "" : `, up to ${pauseAt} epochs`;
    change(
      number,
      { state: "running", started: trial.started ?? new Date().toISOString() },
      `seed ${seed}${upTo}`,
    );
    const seedOf = "training.seed" in trial.values ? [] : [`training.seed=${seed}`];
    const own = [`name=${JSON.stringify(name)}`, `directory=${JSON.stringify(directory)}`];
    const stats = `stats=${JSON.stringify(sweep.stats)}`;
    const failed = (error: string): void =>
      change(number, { state: "failed", error, ended: new Date().toISOString() }, "failed");
    let result: MemberResult;
    try {
      result = await train({
        file: sweep.file,
        directory,
        name,
        labels: { sweep: { id: sweep.id, trial: number } },
        overrides: [...sweep.overrides, ...overridesOf(trial.values), ...seedOf, ...own, stats],
        ...(pauseAt !== undefined && { pauseAt }),
      });
    } catch (error) {
      if (signal?.aborted) interrupted = true;
      else failed(error instanceof Error ? error.message : String(error));
      return;
    }
    interrupted ||= result.interrupted;
    if (result.interrupted) return;
    const measured = result.metrics[options.metric];
    if (measured === undefined) throw noMetric(options.metric, Object.keys(result.metrics));
    if (!Number.isFinite(measured)) return failed(`${options.metric} is ${measured}`);
    const member: MemberState = {
      seed,
      run: basename(result.run),
      value: measured,
      ...(result.paused && pauseAt !== undefined && { pausedAt: pauseAt }),
    };
    const members = (trials[number] as Trial).members.map((one, i) => (i === index ? member : one));
    change(number, { members }, `${options.metric} ${measured}`);
  };

  const open = (): Trial[] => trials.filter(({ state }) => state === "waiting" || state === "running");
  const stages = rungs.length > 0 ? rungs : [undefined];
  for (const [i, budget] of stages.entries()) {
    const isLast = i === stages.length - 1;
    const pauseAt = isLast ? undefined : budget;
    const jobs = open().flatMap(({ number, members }) =>
      members.map((_, index) => () => advance(number, index, pauseAt)),
    );
    await inParallel(jobs, parallel);
    if (interrupted) break;
    const ended = new Date().toISOString();
    for (const { number, members, rungs: before } of open()) {
      const mean = members.reduce((sum, one) => sum + (one.value as number), 0) / members.length;
      // Where a sweep goes on, some are further than this rung.
      const value = before[String(budget)] ?? mean;
      const own = budget === undefined ? before : { ...before, [budget]: value };
      change(number, { value, rungs: own, ...(isLast && { state: "complete", ended }) });
    }
    if (isLast) break;
    // A sweep that goes on comes by here with those that are left: the number that stays counts from all of them.
    const stay = Math.max(1, Math.floor(trials.length / options.reduction ** (i + 1)));
    for (const { number } of ranked(open(), options.direction).slice(stay))
      change(number, { state: "pruned", ended }, `ended after ${budget} epochs`);
  }
  return current();
}

/** Trials with a value, the best first; of equal ones the earlier. */
export const ranked = (trials: readonly Trial[], direction: "minimize" | "maximize"): Trial[] =>
  trials
    .filter(({ value }) => value !== undefined)
    .sort((a, b) => {
      const difference = (a.value as number) - (b.value as number);
      return (direction === "minimize" ? difference : -difference) || a.number - b.number;
    });

const noMetric = (metric: string, known: readonly string[]): EspalierError =>
  new EspalierError("SWEEP_METRIC", `the runs have no metric "${metric}"${didYouMean(metric, known)}`, {
    fix: `give one of ${known.filter((key) => !/^(system|time)\//.test(key)).join(", ") || "the metrics of a run"}`,
  });

/** Does jobs in their order, so many at once. The first failure ends it when those under way are done. */
async function inParallel(jobs: readonly (() => Promise<void>)[], count: number): Promise<void> {
  let next = 0;
  let isFailed = false;
  const work = async (): Promise<void> => {
    while (next < jobs.length && !isFailed)
      await jobs[next++]?.().catch((error) => {
        isFailed = true;
        throw error;
      });
  };
  const done = await Promise.allSettled(Array.from({ length: count }, work));
  for (const one of done) if (one.status === "rejected") throw one.reason;
}

const pauseReason = (epochs: number): string => `paused after ${epochs} epochs`;

/**
 * Trains one run of a trial: a new one, or the one that its directory has, from where it was. A pause is an interruption
 * at the end of an epoch; the configuration stays that of the whole run, so that what follows is what an uninterrupted
 * run does, bit for bit.
 */
export async function trainMember(
  { file, overrides, directory, name, labels, pauseAt }: SweepMember,
  signal?: AbortSignal,
): Promise<MemberResult> {
  const known = readdirSync(directory).find(
    (id) => existsSync(join(directory, id, "run.json")) && readRecord(join(directory, id)).name === name,
  );
  const pause = pauseAt === undefined ? undefined : pauseReason(pauseAt);
  if (known !== undefined) {
    const run = join(directory, known);
    const { outcome, reason } = readRecord(run);
    const paused = pause !== undefined && outcome === "interrupted" && reason === pause;
    if (paused || outcome === "completed" || outcome === "stopped")
      return { run, interrupted: false, paused, metrics: lastMetrics(run) };
  }
  const prepared =
    known === undefined
      ? await createRun(file, { overrides, quiet: true, labels })
      : await reopenRun(join(directory, known), { quiet: true });
  const { trainer, directory: run } = prepared;
  if (pauseAt !== undefined)
    trainer.registerHook({
      name: "sweep.pause",
      schedule: at({ epochs: pauseAt }),
      onEpochEnd: ({ counters, config }) => {
        if (counters.epochs < config.epochs) trainer.interrupt(pauseReason(pauseAt));
      },
    });
  const interrupt = (): void => trainer.interrupt("the sweep was interrupted");
  signal?.addEventListener("abort", interrupt);
  if (signal?.aborted) interrupt();
  try {
    const { outcome, reason } = await prepared.train();
    const paused = outcome === "interrupted" && reason === pause;
    return {
      run,
      paused,
      interrupted: outcome === "interrupted" && !paused,
      metrics: lastMetrics(run),
    };
  } finally {
    signal?.removeEventListener("abort", interrupt);
  }
}

function lastMetrics(run: string): MemberResult["metrics"] {
  const file = join(run, "metrics.jsonl");
  const metrics: Record<string, number> = {};
  for (const line of existsSync(file) ? readFileSync(file, "utf8").split("\n") : []) {
    if (line === "") continue;
    const { key, value } = JSON.parse(line) as { readonly key: string; readonly value?: number | string };
    if (value !== undefined) metrics[key] = Number(value);
  }
  return metrics;
}

function save(directory: string, sweep: Sweep): void {
  writeWhole(join(directory, "trials.json"), `${JSON.stringify(sweep, undefined, 2)}\n`);
  writeWhole(join(directory, "optuna.log"), optunaJournal(sweep));
}

const optunaStates = { running: 0, complete: 1, pruned: 2, failed: 3, waiting: 4 } as const;

/**
 * The trials as Optuna's journal: a line of JSON for each operation, 0 to create a study, 4 to create a trial.
 * `JournalStorage(JournalFileBackend("optuna.log"))` reads it.
 */
export function optunaJournal({ id, options, trials }: Sweep): string {
  const { parameters, direction } = options;
  const worker_id = "espalier";
  const distributions = Object.fromEntries(
    Object.entries(parameters).map(([name, one]) => [name, JSON.stringify(distributionOf(one))]),
  );
  const internal = (name: string, value: unknown): number => {
    const parameter = parameters[name] as Parameter;
    return isRange(parameter) ? (value as number) : choicesOf(parameter).indexOf(choice(value));
  };
  const lines: object[] = [
    { op_code: 0, worker_id, study_name: id, directions: [direction === "minimize" ? 1 : 2] },
  ];
  for (const { number, values, state, value = null, started = null, ended, members, rungs } of trials)
    lines.push({
      op_code: 4,
      worker_id,
      study_id: 0,
      state: optunaStates[state],
      value: state === "failed" || state === "waiting" ? null : value,
      values: null,
      datetime_start: iso(started),
      ...(ended !== undefined && { datetime_complete: iso(ended) }),
      distributions,
      params: Object.fromEntries(Object.entries(values).map(([name, one]) => [name, internal(name, one)])),
      user_attrs: { trial: number, runs: members.flatMap(({ run }) => run ?? []) },
      system_attrs: {},
      intermediate_values: rungs,
    });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** Pythons before 3.11 do not read the Z. */
const iso = (time: string | null): string | null => time?.replace("Z", "+00:00") ?? null;

function distributionOf(parameter: Parameter): object {
  if (!isRange(parameter))
    return { name: "CategoricalDistribution", attributes: { choices: choicesOf(parameter) } };
  const { from, to, scale, step } = parameter;
  const log = scale === "log";
  const high = log ? to : ((pointsOf(parameter).at(-1) as number | undefined) ?? to);
  if (step !== undefined && [from, step].every(Number.isInteger))
    return { name: "IntDistribution", attributes: { log, step, low: from, high: Math.floor(high) } };
  return { name: "FloatDistribution", attributes: { step: step ?? null, low: from, high, log } };
}

/** Optuna's choices are plain values: others are written as text. */
const choice = (value: unknown): unknown =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : value;

const choicesOf = (values: readonly unknown[]): readonly unknown[] => values.map(choice);
