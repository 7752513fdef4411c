import {
  badOption,
  checkNames,
  didYouMean,
  EspalierError,
  isPlainObject,
  node,
  shown,
} from "../../core/index.ts";
import type { PolicySpaces } from "../policies/policy.ts";
import { acrobot, compiledAcrobot } from "./classics/acrobot.ts";
import { cartPole, compiledCartPole } from "./classics/cart-pole.ts";
import {
  compiledMountainCar,
  compiledMountainCarContinuous,
  mountainCar,
  mountainCarContinuous,
} from "./classics/mountain-car.ts";
import { compiledPendulum, pendulum } from "./classics/pendulum.ts";
import type { CompiledEnvironment } from "./compiled.ts";
import { checkMade, type Environment, withSpaces } from "./environment.ts";
import { compiledGridWorld } from "./grid/compiled.ts";
import { gridWorld } from "./grid/grid-world.ts";
import { importFunction, isClass, urlOf } from "./import-function.ts";

const registered = new Map<string, EnvironmentEntry>();

/**
 * Registers an environment under a name, by which configurations, presets, evaluation and replays of this process find
 * it. A name that is taken is refused, unless the functions are the same, or `replace` is true.
 *
 * @example
 * ```ts
 * registerEnvironment("Walk", { make: makeWalk });
 * const environment = makeEnvironment("Walk");
 * ```
 */
export function registerEnvironment(
  name: string,
  entry: EnvironmentEntry,
  options: { readonly replace?: boolean } = {},
): void {
  checkNames("registerEnvironment", options, ["replace"]);
  if (typeof name !== "string" || name === "")
    throw badOption("registerEnvironment", `the name is ${shown(name)}`, "give it a name");
  if (typeof entry?.make !== "function")
    throw badOption(
      "registerEnvironment",
      `make of "${name}" is ${shown(entry?.make)}`,
      "give () => Environment",
    );
  checkSource("registerEnvironment", `make of "${name}"`, entry.make);
  if (Object.hasOwn(builtIn, name))
    throw new EspalierError("ENVIRONMENT_EXISTS", `"${name}" is the name of a built-in environment`, {
      fix: "choose another name",
    });
  const taken = registered.get(name);
  const same = taken?.make === entry.make && taken?.compiled === entry.compiled;
  if (taken && !same && !options.replace)
    throw new EspalierError("ENVIRONMENT_EXISTS", `"${name}" is the name of another environment already`, {
      fix: `choose another name, or replace it: registerEnvironment("${name}", { make }, { replace: true })`,
    });
  registered.set(name, entry);
}

/**
 * Makes an environment by its name.
 *
 * @example
 * ```ts
 * const environment = makeEnvironment("CartPole-v1");
 * const { observation } = environment.reset({ seed: 1 });
 * ```
 */
export const makeEnvironment = (name: string): Environment =>
  checkMade(entryOf(name).make(), `make of "${name}"`);

/**
 * The compiled environment of a name, which runs inside compiled programs.
 *
 * @example
 * ```ts
 * const environment = compiledEnvironment("Pendulum-v1");
 * ```
 */
export function compiledEnvironment(name: string): CompiledEnvironment {
  const { compiled } = entryOf(name);
  if (compiled) return withSpaces(compiled());
  const those = environmentNames().filter(hasCompiled);
  throw new EspalierError("ENVIRONMENT_NOT_COMPILED", `"${name}" has no compiled form`, {
    fix: `use it as an ordinary environment, register it with { compiled }, or use ${those.join(", ")}`,
  });
}

/** True if the environment of a name has a compiled form. */
export const hasCompiled = (name: string): boolean => entryOf(name).compiled !== undefined;

/**
 * All registered names, the built-in ones first.
 *
 * @example
 * ```ts
 * environmentNames(); // ["CartPole-v1", "Acrobot-v1", ...]
 * ```
 */
export const environmentNames = (): readonly string[] => [...Object.keys(builtIn), ...registered.keys()];

/** Refuses a name that other threads do not know: one that is not built in. */
export function checkKnownEverywhere(name: string): void {
  entryOf(name);
  if (Object.hasOwn(builtIn, name)) return;
  throw new EspalierError("ENVIRONMENT_UNKNOWN", `"${name}" is registered in this thread alone`, {
    fix: elsewhere,
  });
}

const elsewhere =
  "names that are registered in one thread or process are not known in another: give { module, name }, the file that exports a function that makes it";

/** True if this name leads to other environments than those that `make` makes, which may be wrapped ones. */
export const meansAnother = (name: string, make: unknown): boolean =>
  (knownEntry(name)?.make ?? make) !== make;

const knownEntry = (name: string): EnvironmentEntry | undefined =>
  Object.hasOwn(builtIn, name) ? builtIn[name] : registered.get(name);

function entryOf(name: string): EnvironmentEntry {
  const entry = knownEntry(name);
  if (entry) return entry;
  const names = environmentNames();
  throw new EspalierError(
    "ENVIRONMENT_UNKNOWN",
    `there is no environment ${shown(name)}${didYouMean(String(name), names)}`,
    {
      fix: node.workerThreads.isMainThread
        ? `use one of ${names.join(", ")}, or name your own with registerEnvironment(name, { make })`
        : elsewhere,
    },
  );
}

/** The functions that make an environment and its compiled form. */
export interface EnvironmentEntry {
  readonly make: () => Environment;
  readonly compiled?: () => CompiledEnvironment;
}

/** The built-in environments. */
export const builtIn: Readonly<Record<string, EnvironmentEntry>> = {
  "CartPole-v1": { make: cartPole, compiled: compiledCartPole },
  "Acrobot-v1": { make: acrobot, compiled: compiledAcrobot },
  "MountainCar-v0": { make: mountainCar, compiled: compiledMountainCar },
  "MountainCarContinuous-v0": {
    make: mountainCarContinuous,
    compiled: compiledMountainCarContinuous,
  },
  "Pendulum-v1": { make: pendulum, compiled: compiledPendulum },
  "GridWorld-v0": { make: () => gridWorld(), compiled: () => compiledGridWorld() },
  "GridWorldTeam-v0": {
    make: () => gridWorld({ agents: 2 }),
    compiled: () => compiledGridWorld({ agents: 2 }),
  },
};

/** An environment by the file that exports a function that makes it: it can be made in any thread or process. */
export interface EnvironmentModule {
  /** The file's URL, such as `import.meta.url`, or its absolute path. */
  readonly module: string;
  /** The function's name there: `() => Environment`. */
  readonly name: string;
}

/** A source of environments: a registered name, a file, or a function of this process. */
export type EnvironmentSource = string | EnvironmentModule | (() => Environment);

/** True if it means the same in another thread or process. */
export const isPortable = (source: EnvironmentSource): source is string | EnvironmentModule =>
  typeof source !== "function";

/** Refuses a value that is no source, and says what to write instead. */
export function checkSource(kind: string, option: string, source: unknown): void {
  if (isClass(source)) {
    const name = source.name || "MyEnvironment";
    throw badOption(
      kind,
      `${option} is the class ${name}, which cannot be called without new`,
      `give a function: () => new ${name}()`,
    );
  }
  if (typeof source === "function" || (typeof source === "string" && source !== "")) return;
  if (isEnvironment(source))
    throw badOption(
      kind,
      `${option} is an environment, and several are needed`,
      "observe" in source
        ? "register the compiled environment, and give its name: registerEnvironment(name, { make, compiled: () => environment })"
        : "give the function that makes it: () => new MyEnvironment(), or what defineEnvironment gave",
    );
  if (isPlainObject(source) && source.module instanceof URL)
    throw badOption(
      kind,
      `${option}.module is a URL object, which cannot be sent to threads`,
      "give its text: new URL(...).href",
    );
  if (isPlainObject(source) && typeof source.module === "string" && typeof source.name === "string") {
    moduleUrl(kind, `${option}.module`, source.module);
    return;
  }
  throw badOption(
    kind,
    `${option} is ${shown(source)}`,
    'give the name of an environment, such as "CartPole-v1", a function that makes one, or { module, name }',
  );
}

export const isEnvironment = (source: unknown): source is Environment =>
  typeof (source as Partial<Environment> | null | undefined)?.reset === "function" &&
  typeof (source as Partial<Environment>).step === "function";

/** The URL of a file that is given by its URL or absolute path; refuses what is neither. */
export function moduleUrl(kind: string, option: string, file: string): URL {
  const url = urlOf(file);
  if (URL.canParse(url)) return new URL(url);
  throw badOption(
    kind,
    `${option} is ${shown(file)}, which is neither a URL nor an absolute path`,
    'give new URL("./my-module.ts", import.meta.url).href',
  );
}

/** The function that makes environments of a source. Loads files. */
export async function environmentMaker(source: EnvironmentSource): Promise<() => Environment> {
  if (typeof source === "function") return () => checkMade(source(), "the function that makes environments");
  if (typeof source === "string") return () => makeEnvironment(source);
  const { module: file, name } = source;
  const make = await importFunction(
    file,
    name,
    (what, fix, cause) =>
      new EspalierError("ENVIRONMENT_UNKNOWN", `the environment ${name}: ${file} ${what}`, { fix, cause }),
  );
  return () => checkMade(make(), `${name} of ${file}`);
}

/** The spaces of a source. An environment is made to read them. */
export async function spacesOf(source: EnvironmentSource): Promise<PolicySpaces> {
  const environment = (await environmentMaker(source))();
  const { observationSpace, actionSpace } = environment;
  environment.close?.();
  return { observationSpace, actionSpace };
}
