import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { didYouMean, EspalierError, printable } from "../core/index.ts";

/** The doors of the package, each loaded when a name of it is used. */
const doors = {
  espalier: () => import("../index.ts"),
  "espalier/checkpoint": () => import("../doors/checkpoint.ts"),
  "espalier/cluster": () => import("../doors/cluster.ts"),
  "espalier/data": () => import("../doors/data.ts"),
  "espalier/hooks": () => import("../doors/hooks.ts"),
  "espalier/language": () => import("../doors/language.ts"),
  "espalier/metrics": () => import("../doors/metrics.ts"),
  "espalier/rl": () => import("../doors/rl.ts"),
  "espalier/rollout": () => import("../doors/rollout.ts"),
  "espalier/supervised": () => import("../doors/supervised.ts"),
} as const;
type Door = keyof typeof doors;

const names = (text: string): readonly string[] => text.trim().split(/\s+/);

/**
 * Names that a file uses as they are, by what they make and by the door that exports them: those of the program's own
 * functions. Others of the package have their door before them (`espalier/rl#box`); `nn` and `optim` are known too.
 */
export const catalog = {
  task: {
    "espalier/supervised": names("supervisedTask supervisedTrainer"),
    "espalier/rl": names("a2c dqn dqnTask onPolicyTask ppo"),
    "espalier/rollout": names("languageTask policyTask rolloutTask"),
  },
  hook: {
    espalier: names("checkpointHook earlyStopping loggingHook metricsHook periodicHook progressHook"),
    "espalier/hooks": names("emaHook rollbackHook"),
    "espalier/metrics": names("gradientMonitor heartbeatHook lossSpikeDetector profilerHook watchdogHook"),
    "espalier/rl": names("curriculumHook evaluationHook"),
    "espalier/supervised": names("confusionMatrixHook"),
  },
  sink: {
    espalier: names("consoleSink csvSink jsonlSink tensorBoardSink"),
    "espalier/metrics": names("logFileSink mlflowSink prometheusSink wandbSink"),
  },
  schedule: { espalier: names("always at between cycle every everySteps never") },
  ramp: { espalier: names("byMetric constant cosine linear oneCycle piecewise sawtooth warmup") },
  loss: {
    "espalier/supervised": names(`
      binary classification languageModeling multiLabel multimodal regression sequenceLabeling visionClassification`),
    "espalier/rl": names("entropyLoss policyLoss valueLoss"),
    "espalier/language": names(`
      dpoLoss grpoLoss imitationLoss referenceKlLoss rlooLoss tokenEntropyLoss tokenPolicyLoss`),
  },
  data: {
    "espalier/data": names(`
      byteTokenizer characterTokenizer columns csv fromModule glyphs idx imageFolder jsonl label npy numeric oneHot
      parquet standardize tabular textFile tokenFile tokenWindows tokenizerFromFile toyLanguage`),
    "espalier/supervised": names("dataModule taskSpec"),
  },
  metric: {
    "espalier/supervised": names(
      "accuracy auc confusionMatrix f1 mae perplexity precision r2 recall rmse topK",
    ),
  },
  environment: {
    "espalier/rl": names(`
      acrobot cartPole clipActions clipObservations clipRewards compiledAcrobot compiledCartPole compiledGridWorld
      compiledMountainCar compiledMountainCarContinuous compiledPendulum frameStack gridWorld mountainCar
      mountainCarContinuous pendulum`),
  },
  curriculum: { "espalier/rl": names("gridLessons learningProgressCurriculum lessonCurriculum") },
  generator: { "espalier/rollout": names("environmentRollouts textRollouts") },
  transport: {
    "espalier/rollout": names("inProcessTransport workerProcesses"),
    "espalier/cluster": names("natsEvaluations natsTransport"),
  },
  store: { "espalier/checkpoint": names("localStore memoryStore s3Store") },
} satisfies Readonly<Record<string, { readonly [D in Door]?: readonly string[] }>>;

/** What a name makes. */
export type Kind = keyof typeof catalog;

export interface CatalogEntry {
  readonly name: string;
  readonly kind: Kind;
  readonly door: string;
  load(): Promise<unknown>;
}

export function catalogEntries(): readonly CatalogEntry[] {
  return Object.entries(catalog).flatMap(([kind, byDoor]) =>
    Object.entries(byDoor).flatMap(([door, list]) =>
      list.map((name) => ({
        name,
        kind: kind as Kind,
        door,
        load: async () => ((await doors[door as Door]()) as Readonly<Record<string, unknown>>)[name],
      })),
    ),
  );
}

const isFile = (name: string): boolean => /^(\.{1,2}\/|\/|file:)/.test(name);

/**
 * The value that a name stands for: a function of the package, `./my-hook.ts` or `./my-hooks.ts#name` from the
 * directory `base`, or `some-package#name`. Without `#name` it is the default export, or the only one.
 */
export async function resolveName(name: string, base: string): Promise<unknown> {
  const [module = "", part] = name.split("#", 2);
  if (!isFile(name) && part === undefined) {
    const own = await ownName(name);
    if (own !== undefined) return own;
    if (!packageDirectory(module, base)) throw unknownName(name);
  }
  const exports = await importModule(module, base);
  if (part !== undefined) {
    if (exports[part] !== undefined) return exports[part];
    throw new EspalierError(
      "CONFIG_NAME",
      `${module} has no export "${printable(part)}"${didYouMean(part, Object.keys(exports))}`,
      { fix: `it exports ${Object.keys(exports).join(", ") || "nothing"}` },
    );
  }
  const values = Object.values(exports);
  const found = exports.default ?? (values.length === 1 ? values[0] : undefined);
  if (found !== undefined) return found;
  throw new EspalierError("CONFIG_NAME", `${module} has no default export`, {
    fix: `say which one: ${module}#${Object.keys(exports)[0] ?? "name"}`,
  });
}

/** A name of the catalog, or one such as `nn.mlp`. */
async function ownName(name: string): Promise<unknown> {
  const [space = "", member] = name.split(".");
  if (member !== undefined && ["nn", "optim", "np"].includes(space)) {
    const front = (await doors.espalier()) as unknown as Readonly<Record<string, object>>;
    const inner = front[space] as Readonly<Record<string, unknown>>;
    if (Object.hasOwn(inner, member)) return inner[member];
    throw new EspalierError(
      "CONFIG_NAME",
      `there is no ${printable(name)}${didYouMean(member, Object.keys(inner))}`,
      { fix: `${space} has ${Object.keys(inner).slice(0, 40).join(", ")}` },
    );
  }
  return catalogEntries()
    .find((entry) => entry.name === name)
    ?.load();
}

function unknownName(name: string): EspalierError {
  const all = catalogEntries().map((entry) => entry.name);
  return new EspalierError("CONFIG_NAME", `there is no "${printable(name)}"${didYouMean(name, all)}`, {
    fix: "use a name of the package, ./file.ts, ./file.ts#name, or package#name of an installed package",
  });
}

async function importModule(module: string, base: string): Promise<Readonly<Record<string, unknown>>> {
  if (Object.hasOwn(doors, module)) return (await doors[module as Door]()) as never;
  const url = moduleAt(module, base);
  try {
    return (await import(url)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new EspalierError("CONFIG_MODULE", `${printable(module)} could not be imported: ${why}`, {
      fix: "import it in a program of its own to see where it fails",
      cause,
    });
  }
}

/** The address of a file or a package, as a program in `base` would find it. */
export function moduleAt(module: string, base: string): string {
  if (module.startsWith("file:")) return module;
  if (isFile(module)) {
    const file = resolve(base, module);
    if (existsSync(file)) return pathToFileURL(file).href;
    throw new EspalierError("CONFIG_MODULE", `there is no file ${printable(file)}`, {
      fix: "name a file by its path from the configuration's directory: ./my-hook.ts",
    });
  }
  try {
    return pathToFileURL(createRequire(join(resolve(base), "espalier.js")).resolve(module)).href;
  } catch {
    const url = importOnly(module, base);
    if (url) return url;
    throw new EspalierError("CONFIG_MODULE", `the package "${printable(module)}" is not installed here`, {
      fix: `npm install ${printable(module)}`,
    });
  }
}

const packageName = (module: string): string =>
  module
    .split("/")
    .slice(0, module.startsWith("@") ? 2 : 1)
    .join("/");

function packageDirectory(module: string, base: string): string | undefined {
  if (!/^(@[\w.-]+\/)?[\w.-]+(\/|$)/.test(module)) return undefined;
  for (let at = resolve(base); ; at = dirname(at)) {
    const found = join(at, "node_modules", packageName(module));
    if (existsSync(join(found, "package.json"))) return found;
    if (at === dirname(at)) return undefined;
  }
}

/** A package that `require` cannot have: its exports are for `import` alone. */
function importOnly(module: string, base: string): string | undefined {
  const directory = packageDirectory(module, base);
  if (!directory) return undefined;
  const { exports, main } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  const inner = `.${module.slice(packageName(module).length)}`;
  let found: unknown = typeof exports === "string" && inner === "." ? exports : exports?.[inner];
  if (inner === ".") found ??= exports?.import ? exports : main;
  while (typeof found === "object" && found !== null)
    found = (found as Record<string, unknown>).import ?? (found as Record<string, unknown>).default;
  return typeof found === "string" ? pathToFileURL(join(directory, found)).href : undefined;
}
