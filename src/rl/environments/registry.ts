import { isMainThread } from "node:worker_threads";
import { badOption, checkNames, didYouMean, EspalierError, shown } from "../../core/index.ts";
import type { CompiledEnvironment } from "../compiled/compiled.ts";
import { builtIn, type EnvironmentEntry } from "./built-in.ts";
import type { Environment } from "./environment.ts";
import { checkMade } from "./given.ts";

const registered = new Map<string, EnvironmentEntry>();

/**
 * Gives an environment a name, under which configurations, presets, evaluation and replays of this process find it.
 * A name that is taken is refused, unless it is given to the same functions again, or `replace` is true.
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
 * A new environment of a name.
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
 * The compiled environment of a name: the same world, which runs inside compiled programs.
 *
 * @example
 * ```ts
 * const environment = compiledEnvironment("Pendulum-v1");
 * ```
 */
export function compiledEnvironment(name: string): CompiledEnvironment {
  const { compiled } = entryOf(name);
  if (compiled) return compiled();
  const those = environmentNames().filter(hasCompiled);
  throw new EspalierError("ENVIRONMENT_NOT_COMPILED", `"${name}" has no compiled form`, {
    fix: `use it as an ordinary environment, register it with { compiled }, or use ${those.join(", ")}`,
  });
}

/**
 * Whether the environment of a name has a compiled form.
 *
 * @example
 * ```ts
 * const environment = hasCompiled(name) ? compiledEnvironment(name) : makeEnvironment(name);
 * ```
 */
export const hasCompiled = (name: string): boolean => entryOf(name).compiled !== undefined;

/**
 * All names, the built-in ones first.
 *
 * @example
 * ```ts
 * environmentNames(); // ["CartPole-v1", "Acrobot-v1", ...]
 * ```
 */
export const environmentNames = (): readonly string[] => [...Object.keys(builtIn), ...registered.keys()];

/** Refuses a name that other threads do not know, because it does not come with Espalier. */
export function checkKnownEverywhere(name: string): void {
  entryOf(name);
  if (Object.hasOwn(builtIn, name)) return;
  throw new EspalierError("ENVIRONMENT_UNKNOWN", `"${name}" is registered in this thread alone`, {
    fix: elsewhere,
  });
}

const elsewhere =
  "names that are registered in one thread or process are not known in another: give { module, name }, the file that exports a function that makes it";

/** Whether this name leads to other environments than those that `make` makes: one that wraps them, say. */
export function meansAnother(name: string, make: unknown): boolean {
  const entry = Object.hasOwn(builtIn, name) ? builtIn[name] : registered.get(name);
  return entry !== undefined && entry.make !== make;
}

function entryOf(name: string): EnvironmentEntry {
  const entry = Object.hasOwn(builtIn, name) ? builtIn[name] : registered.get(name);
  if (entry) return entry;
  const names = environmentNames();
  throw new EspalierError(
    "ENVIRONMENT_UNKNOWN",
    `there is no environment ${shown(name)}${hint(name, names)}`,
    {
      fix: isMainThread
        ? `use one of ${names.join(", ")}, or name your own with registerEnvironment(name, { make })`
        : elsewhere,
    },
  );
}

const hint = (name: unknown, names: readonly string[]): string =>
  typeof name === "string" ? didYouMean(name, names) : "";
