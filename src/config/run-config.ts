/**
 * A run from a file. What happens to `espalier train run.yaml`:
 *
 *     read      YAML, JSON or TypeScript, with values changed by --set                              source.ts
 *     build     every `use` is a call of a function of the package, a file or a package:            names.ts, build.ts
 *                 engine, imports, task, training, hooks, sinks; all problems at once, with places
 *     start     a directory of its own: configuration, plan, logs, metrics, checkpoints             run-directory.ts
 *     train     a `Trainer`, as in a program
 *
 * The functions check what they are given, by their own tables of options: what a program accepts, a file accepts.
 */
import { readFileSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type CheckpointHookOptions, checkpointHook } from "../checkpoint/index.ts";
import {
  EspalierError,
  errorText,
  isPlainObject,
  notMade,
  type Options,
  option,
  optionProblems,
  printableText,
} from "../core/index.ts";
import { setEngine } from "../engine/index.ts";
import { Logger, type MetricsHookOptions, metricsHook, type Sink } from "../metrics/index.ts";
import { every } from "../schedule/index.ts";
import {
  type Task,
  type TrainerHook,
  type TrainerOptions,
  type TrainingConfig,
  trainingConfig,
} from "../trainer/index.ts";
import { Builder, type Call } from "./build.ts";
import { moduleAt } from "./names.ts";
import {
  badOverride,
  type ConfigSource,
  checkIndex,
  configError,
  type Path,
  parseConfig,
  parseOverride,
  pathText,
} from "./source.ts";
import type { SweepOptions } from "./sweep.ts";

/** What `ppo` and `supervisedTrainer` give: it makes its task when a run begins. */
interface TaskMaker {
  setup(training: {
    readonly config: Partial<TrainingConfig>;
    readonly trainData?: never;
    readonly valData?: never;
  }): TrainerOptions | Promise<TrainerOptions>;
}

const object = <T>(is: string, doc: string) => option.made<T>(is, (value) => isPlainObject(value), { doc });
const list = <T>(of: string, doc: string) =>
  option.made<readonly (T | Call | string)[]>(`a list of ${of}`, Array.isArray, { doc });

/** The members of a run: the schema of its files, and of what a program gives to `runConfig`. */
export const runTable = {
  name: option.text({ doc: "The run's name. Default: that of the file." }),
  imports: {
    ...option.made<readonly string[]>(
      "a list of files and packages",
      (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
      { doc: "Files or packages that are imported first: they register environments." },
    ),
    schema: { type: "array", items: { type: "string" } },
  },
  engine: option.oneOf(["auto", "xla", "wasm"], { default: "auto", doc: "The engine." }),
  define: object<Readonly<Record<string, unknown>>>(
    "values by name",
    "Values by name, which others use: { get: NAME }.",
  ),
  data: object<{ readonly train: unknown; readonly validation?: unknown } | Call>(
    "{ train, validation }",
    "Data of a supervisedTrainer.",
  ),
  task: option.made<Task | TaskMaker | Call, { required: true; doc: string }>(
    "a task, such as { use: ppo, env: CartPole-v1 }",
    isObject,
    { required: true, doc: "What is trained, with its data, model, optimizer and losses." },
  ),
  training: object<Partial<{ readonly [K in keyof TrainingConfig]: TrainingConfig[K] | Call }>>(
    "an object such as { epochs: 10 }",
    "How long, from which seed, when it validates.",
  ),
  hooks: list<TrainerHook>("hooks", "Hooks of the run."),
  sinks: list<Sink>("sinks", "Sinks of metrics beside the files of the run's directory."),
  metrics: object<Omit<MetricsHookOptions, "logger" | "statsStore" | "run" | "name"> | Call>(
    "options of metricsHook",
    "Options of the run's metricsHook.",
  ),
  checkpoints: option.made<false | Omit<CheckpointHookOptions, "store" | "directory" | "onStart"> | Call>(
    "false, or options of checkpointHook",
    (value) => value === false || isObject(value),
    { doc: "Options of the run's checkpointHook. Default: every minute and at the end, the last three." },
  ),
  control: option.flag({
    default: true,
    doc: "Takes requests from the run's directory while it trains: pause, stop, another learning rate.",
  }),
  stats: option.made<string | false>(
    "false, a SQLite file or a postgres:// address",
    (value) =>
      value === false || (typeof value === "string" && /^(postgres(ql)?:|(?!\w+:\/\/).)/i.test(value)),
    { doc: "The stats store that all runs share. Default: stats.db beside the runs." },
  ),
  directory: option.text({ default: "runs", doc: "The directory of all runs." }),
  sweep: object<SweepOptions>("options of a sweep", "What `espalier sweep` tries."),
};

/** A run, as a TypeScript file exports it (`export default runConfig({ ... })`), or a YAML or JSON file writes it. */
export type RunConfig = Options<typeof runTable>;

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * A run in a TypeScript file, which `espalier train` takes. Its values are those of a program, or calls as in a YAML file.
 *
 * @example
 * ```ts
 * export default runConfig({ task: ppo({ env: "CartPole-v1" }), training: { seed: 1 } });
 * ```
 */
export const runConfig = (config: RunConfig): RunConfig => config;

/** A run that was built and has not begun. */
export interface BuiltRun {
  readonly name: string;
  readonly source: ConfigSource;
  /** The values of the source; those of a file as they are written. */
  readonly config: RunConfig;
  readonly trainer: TrainerOptions;
  readonly sinks: readonly Sink[];
  readonly metrics: Partial<MetricsHookOptions>;
  readonly checkpoints: false | Partial<CheckpointHookOptions>;
}

/** Reads a configuration: YAML, JSON, or a module whose default export is one, or a function that gives one. */
export async function readConfig(file: string, overrides: readonly string[] = []): Promise<ConfigSource> {
  const kind = extname(file).toLowerCase();
  if ([".yaml", ".yml", ".json"].includes(kind)) return parseConfig(readText(file), file, overrides);
  readText(file);
  const value = await exportedBy(file);
  if (!isPlainObject(value))
    throw new EspalierError("CONFIG_FILE", `${file} exports no run`, {
      fix: "write: export default runConfig({ task, training: { epochs: 10 } })",
    });
  const changed = overrides.reduce<unknown>((all, override) => {
    const { path, value: to } = parseOverride(override);
    return withValue(all, path, 0, to, override);
  }, value);
  return { file, value: changed, place: () => file };
}

async function exportedBy(file: string): Promise<unknown> {
  try {
    const exports = (await import(pathToFileURL(resolve(file)).href)) as Readonly<Record<string, unknown>>;
    const given = exports.default ?? exports.config;
    return typeof given === "function" ? await given() : given;
  } catch (cause) {
    if (cause instanceof EspalierError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new EspalierError("CONFIG_FILE", `${file} could not be imported: ${printableText(why)}`, {
      fix: "give a file: run.yaml, run.json or run.ts; a module has to run by itself",
      cause,
    });
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new EspalierError("CONFIG_FILE", `${file} cannot be read: ${(cause as Error).message}`, {
      fix: "give a file: run.yaml, run.json or run.ts",
      cause,
    });
  }
}

/** A value of a module with the one at a path replaced, from the part `i` on. What the program made has no such parts. */
function withValue(value: unknown, path: Path, i: number, to: unknown, override: string): unknown {
  const part = path[i];
  if (part === undefined) return to;
  if (i > 0 && isMade(value))
    throw badOverride(
      override,
      `${pathText(path.slice(0, i))} is made by the program, not written as { use: NAME }`,
    );
  const next = (inner: unknown): unknown => withValue(inner, path, i + 1, to, override);
  const isTree = Array.isArray(value) || isPlainObject(value);
  checkIndex(Array.isArray(value) ? value.length : isTree ? undefined : 0, path, i, override);
  if (typeof part === "number" && !(isTree && !Array.isArray(value))) {
    const items = Array.isArray(value) ? [...value] : [];
    items[part] = next(items[part]);
    return items;
  }
  return { ...(isTree && value), [part]: next(isTree ? Reflect.get(value, part) : undefined) };
}

/** True for functions, instances of classes and objects that have methods or getters. */
function isMade(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "function";
  if (Array.isArray(value) || "use" in value) return false;
  const members = Object.values(Object.getOwnPropertyDescriptors(value));
  return (
    !isPlainObject(value) ||
    members.some(({ get, value }) => get !== undefined || typeof value === "function")
  );
}

/**
 * Builds the run of a configuration, whose files are named from `base`; relative paths of what its parts write are in
 * `directory`, that of the run. All problems are told at once.
 */
export async function buildRun(
  source: ConfigSource,
  base = dirname(source.file),
  directory?: string,
): Promise<BuiltRun> {
  const { builder, config } = await begin(source, base, directory);
  const { problems } = builder;
  for (const { path, error } of optionProblems("the run", config, runTable))
    problems.push({ path, message: errorText(error), fix: error.fix });
  const name = nameOf(source);
  for (const part of Object.keys(definitionsOf(config))) await builder.part(part, ["define", part]);
  const data = await builder.make(config.data, ["data"]);
  const task = await builder.make(config.task, ["task"]);
  const training = (await builder.make(config.training ?? {}, ["training"])) as Partial<TrainingConfig>;
  const checked = isPlainObject(training)
    ? await builder.attempt(["training"], () => trainingConfig(training))
    : training;
  const trainer = await builder.attempt(["task"], () =>
    // A value that is no task at all was told with the options of the run.
    checked === notMade || !isObject(config.task) ? notMade : trainerOf(task, training, data, name),
  );
  builder.parts.set("task", trainer === notMade ? notMade : (trainer as TrainerOptions).task);

  const items = async (member: "hooks" | "sinks"): Promise<unknown[]> => {
    const all = config[member];
    const made: unknown[] = [];
    for (const [i, one] of (Array.isArray(all) ? all : []).entries()) {
      const item = await builder.item(one, [member, i]);
      made.push(item);
      if (item === notMade || isObject(item) || typeof item === "function") continue;
      problems.push({
        path: [member, i],
        message: `it is no ${member.slice(0, -1)}`,
        fix: "give { use: NAME }",
      });
    }
    return made;
  };
  const hooks = (await items("hooks")) as TrainerHook[];
  const sinks = (await items("sinks")) as Sink[];
  const metrics = (await builder.make(config.metrics ?? {}, ["metrics"])) as Partial<MetricsHookOptions>;
  const checkpoints = (await builder.make(config.checkpoints ?? {}, [
    "checkpoints",
  ])) as BuiltRun["checkpoints"];
  // These hooks are made when the run has a directory; here they only check their options.
  await builder.check(["metrics"], metricsHook, {
    ...metricsIn(".", metrics),
    logger: new Logger({ sinks: [] }),
  });
  if (checkpoints) await builder.check(["checkpoints"], checkpointHook, checkpointsIn(".", checkpoints));
  const parts: Readonly<Record<string, unknown>> = { training, metrics, checkpoints };
  for (const { path, fix } of ofTheRun) {
    const given = parts[path[0]];
    if (!isPlainObject(given) || Reflect.get(given, path[1]) === undefined) continue;
    problems.push({ path, message: "a run of a file has its own", fix });
  }
  if (problems.length > 0) throw configError(source, problems);

  const options = trainer as TrainerOptions;
  return {
    name,
    source,
    config,
    sinks,
    metrics,
    checkpoints,
    trainer: { ...options, hooks: [...(options.hooks ?? []), ...hooks] },
  };
}

const copies = "copies go to publish: [{ to: s3://lab/maze, schedule: { use: every, epochs: 10 } }]";

/** Options that a run of a file gives by itself, and what to write instead. */
const ofTheRun = [
  { path: ["checkpoints", "directory"], fix: `leave it out; ${copies}` },
  { path: ["checkpoints", "store"], fix: `leave it out; ${copies}` },
  { path: ["checkpoints", "onStart"], fix: "leave it out: espalier resume RUN goes on with a run" },
  { path: ["metrics", "logger"], fix: "leave it out, and give the run sinks" },
  { path: ["metrics", "statsStore"], fix: "leave it out, and give the run stats" },
  { path: ["metrics", "run"], fix: "leave it out, and give the run a name" },
  { path: ["training", "ranks"], fix: "leave it out: ranks train in a program, by trainOnRanks" },
] as const;

/** Options of a run's `metricsHook`: its heartbeat is a file of the run's directory. */
export function metricsIn(
  directory: string,
  { heartbeat = true, ...given }: BuiltRun["metrics"],
): BuiltRun["metrics"] {
  if (heartbeat !== true && !isPlainObject(heartbeat)) return { ...given, heartbeat };
  const { file = "heartbeat.json", ...rest } = heartbeat === true ? {} : heartbeat;
  return {
    ...given,
    heartbeat: { ...rest, file: typeof file === "string" ? resolve(directory, file) : file },
  };
}

export const checkpointsIn = (
  directory: string,
  given: Partial<CheckpointHookOptions>,
): CheckpointHookOptions => ({
  schedule: every({ seconds: 60 }),
  keep: { last: 3 },
  ...given,
  directory: join(directory, "checkpoints"),
});

/**
 * Parts of a configuration by their paths, without the rest of the run: a worker needs its generator alone. Of the
 * definitions those are made that the parts use. A part that is not written is undefined.
 */
export async function buildParts(
  source: ConfigSource,
  base: string,
  paths: readonly Path[],
): Promise<readonly unknown[]> {
  const { builder, config } = await begin(source, base);
  const at = (path: Path): unknown =>
    path.reduce<unknown>(
      (value, name) => (isObject(value) ? Reflect.get(value as object, name) : undefined),
      config,
    );
  const parts: unknown[] = [];
  for (const path of paths) parts.push(await builder.make(at(path), path));
  if (builder.problems.length > 0) throw configError(source, builder.problems);
  return parts;
}

/** What comes first: the engine, and modules that register environments. */
async function begin(source: ConfigSource, base: string, directory?: string) {
  const given = source.value;
  if (!isPlainObject(given))
    throw configError(source, [
      { path: [], message: given === null ? "it is empty" : "it is not an object", fix: "begin with task:" },
    ]);
  const config = given as unknown as RunConfig;
  const builder = new Builder(base, definitionsOf(config), directory);
  const { engine, imports = [] } = config;
  // Without one, ESPALIER_ENGINE counts.
  if (engine !== undefined && ["auto", "xla", "wasm"].includes(engine)) setEngine(engine);
  for (const [i, name] of (Array.isArray(imports) ? imports : []).entries())
    await builder.attempt(["imports", i], () => import(moduleAt(String(name), base)));
  return { builder, config };
}

const definitionsOf = ({ define }: RunConfig): Readonly<Record<string, unknown>> =>
  isPlainObject(define) ? define : {};

/** A text at the top of a configuration; undefined where it is something else. */
export function topText({ value }: ConfigSource, member: "name" | "directory"): string | undefined {
  const text = isPlainObject(value) ? value[member] : undefined;
  return typeof text === "string" && text !== "" ? text : undefined;
}

export const nameOf = (source: ConfigSource): string =>
  topText(source, "name") ?? (source.file.replace(/^.*[\\/]/, "").replace(/\.\w+$/, "") || "run");

/** The options of a trainer for a task, or for what makes one. */
async function trainerOf(
  task: unknown,
  training: Partial<TrainingConfig>,
  data: unknown,
  name: string,
): Promise<TrainerOptions | typeof notMade> {
  if ([task, training, data].includes(notMade)) return notMade;
  const config = { name, ...training };
  if (typeof (task as TaskMaker | undefined)?.setup === "function") {
    const { train, validation } = (data ?? {}) as { readonly train?: never; readonly validation?: never };
    const given = { ...(train !== undefined && { trainData: train, valData: validation }) };
    return (task as TaskMaker).setup({ config, ...given });
  }
  if (!isObject(task) || typeof (task as Task).epoch !== "function")
    throw new EspalierError("CONFIG_TASK", "it is no task", {
      fix: "use supervisedTask, supervisedTrainer, ppo, a2c, dqn, languageTask or policyTask, or a task of your own",
    });
  if (data !== undefined)
    throw new EspalierError("CONFIG_TASK", "data is for a supervisedTrainer", {
      fix: "give it to the task: task: { use: supervisedTask, data: { get: ... } }",
    });
  return { task: task as Task, config: trainingConfig(config) };
}
