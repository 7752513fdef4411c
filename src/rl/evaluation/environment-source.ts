import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { badOption, EspalierError, isPlainObject, shown } from "../../core/index.ts";
import type { Environment } from "../environments/environment.ts";
import { checkMade } from "../environments/given.ts";
import { makeEnvironment } from "../environments/registry.ts";
import type { PolicySpaces } from "../policies/build.ts";

/** An environment of one's own by the file that exports a function that makes it: it can be made anywhere. */
export interface EnvironmentModule {
  /** The file's URL, such as `import.meta.url`, or its absolute path. */
  readonly module: string;
  /** The function's name there: `() => Environment`. */
  readonly name: string;
}

/** Where environments come from: a registered name, a file, or a function of this process. */
export type EnvironmentSource = string | EnvironmentModule | (() => Environment);

/** Whether it means the same in another thread or process. */
export const isPortable = (source: EnvironmentSource): source is string | EnvironmentModule =>
  typeof source !== "function";

/** Refuses what is no source. */
export function checkSource(kind: string, option: string, source: unknown): void {
  if (isClass(source)) {
    const name = source.name || "MyEnvironment";
    throw badOption(kind, `${option} is ${classText(name)}`, `give a function: () => new ${name}()`);
  }
  if (typeof source === "function" || (typeof source === "string" && source !== "")) return;
  if (isEnvironment(source))
    throw badOption(
      kind,
      `${option} is an environment, and several are needed, each made anew`,
      "give the function that makes it: () => new MyEnvironment(), or what defineEnvironment gave",
    );
  if (isPlainObject(source) && typeof source.module === "string" && typeof source.name === "string") return;
  throw badOption(
    kind,
    `${option} is ${shown(source)}`,
    'give the name of an environment, such as "CartPole-v1", a function that makes one, or { module, name }',
  );
}

const isEnvironment = (source: unknown): source is Environment =>
  typeof (source as Partial<Environment> | null | undefined)?.reset === "function" &&
  typeof (source as Partial<Environment>).step === "function";

const isClass = (source: unknown): source is new () => Environment =>
  typeof source === "function" && /^class\b/.test(Function.prototype.toString.call(source));

const classText = (name: string): string => `the class ${name}, which cannot be called without new`;

/** A file by its URL or absolute path, as a URL. */
export const urlOf = (file: string): string => (isAbsolute(file) ? pathToFileURL(file).href : file);

/** Gives what makes environments of a source. Files are loaded here. */
export async function environmentMaker(source: EnvironmentSource): Promise<() => Environment> {
  if (typeof source === "function") return () => checkMade(source(), "the function that makes environments");
  if (typeof source === "string") return () => makeEnvironment(source);
  const { module: file, name } = source;
  const failed = (what: string, cause?: unknown): EspalierError =>
    new EspalierError("ENVIRONMENT_UNKNOWN", what, {
      fix: `export a function ${name}() from that file that gives an environment`,
      cause,
    });
  let module: Readonly<Record<string, unknown>>;
  try {
    module = (await import(urlOf(file))) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw failed(
      `the environment ${name} of ${file} cannot be loaded: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause,
    );
  }
  const make = module[name];
  if (typeof make !== "function") throw failed(`${file} exports no function "${name}"`);
  if (isClass(make)) throw failed(`${name} of ${file} is ${classText(name)}`);
  return () => checkMade((make as () => unknown)(), `${name} of ${file}`);
}

/** What environments of a source observe and do: one is made to find out. */
export async function spacesOf(source: EnvironmentSource): Promise<PolicySpaces> {
  const environment = (await environmentMaker(source))();
  const { observationSpace, actionSpace } = environment;
  environment.close?.();
  return { observationSpace, actionSpace };
}
