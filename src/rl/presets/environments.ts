import { badOption, type Options, option, required } from "../../core/index.ts";
import { type Device, type EngineChoice, engine } from "../../engine/index.ts";
import { checkMade, type Environment } from "../environments/environment.ts";
import {
  checkKnownEverywhere,
  checkSource,
  compiledEnvironment,
  type EnvironmentModule,
  type EnvironmentSource,
  hasCompiled,
  makeEnvironment,
  moduleUrl,
} from "../environments/registry.ts";
import type { OnPolicyOptions } from "../on-policy/options.ts";
import * as rows from "../option-rows.ts";
import { threadedEnvironment, timeoutOption } from "../vector/threads/threaded-environment.ts";
import type { VectorEnvironment } from "../vector/vector.ts";
import { vectorEnvironment, vectorOptionTable } from "../vector/vector-environment.ts";

/** The rows of these options, without engine and device, which tasks have too. */
export const environmentRows = {
  /** The name of a registered environment, a function that makes one, or the file and name of such a function. */
  env: required(rows.source),
  /** Runs them inside the compiled program. Default: if there is a compiled form and the engine is xla. */
  compiled: rows.flag,
  /** Worker threads. Default: 0, the main thread; 1 for environments of a file, which threads load. */
  threads: option.integer({ min: 0 }),
  /** The reaction to an environment that fails on the host, for all or by index. Default: "stop". */
  onFailure: vectorOptionTable.onFailure,
  /** Called with the error of an environment that was restarted. Default: a warning of the process. */
  onRestart: vectorOptionTable.onRestart,
  /** Seconds after which an environment on a thread counts as hanging. Default: 30. */
  timeout: timeoutOption,
};

/** Options of an agent's environments. */
export interface EnvironmentOptions extends Options<typeof environmentRows> {
  readonly engine?: EngineChoice | undefined;
  readonly device?: number | Device | undefined;
}

/** The facts about an agent's environments that are known when it is made. */
export type KnownEnvironment = Pick<
  Environment,
  "name" | "observationSpace" | "actionSpace" | "agents" | "lessons"
>;

/**
 * Refuses options that no environments can be made of, when an agent is made. Returns the facts known then: one
 * environment is made for that, and closed. Of a file nothing is known before threads load it.
 */
export function knownEnvironment(kind: string, options: EnvironmentOptions): KnownEnvironment | undefined {
  const { env, threads, compiled } = options;
  checkSource(kind, "env", env);
  if (typeof env === "string") hasCompiled(env); // Refuses an unknown name.
  if (compiled) {
    checkCompiled(kind, env, threads ?? 0);
    return compiledEnvironment(env);
  }
  checkThreads(kind, env, threads ?? (typeof env === "object" ? 1 : 0));
  if (typeof env === "object") return undefined;
  const made = typeof env === "string" ? makeEnvironment(env) : checkMade(env(), "env");
  made.close?.();
  return made;
}

/** Makes `count` environments, compiled or on the host. */
export function environmentsOf(
  kind: string,
  options: EnvironmentOptions,
  count: number,
): OnPolicyOptions["env"] {
  const { env, threads = 0, compiled } = options;
  checkSource(kind, "env", env);
  const there = typeof env === "string" && hasCompiled(env);
  if (!(compiled ?? (there && threads === 0 && options.onFailure === undefined && onXla(options))))
    return hostEnvironments(kind, options, count);
  checkCompiled(kind, env, threads);
  return { compiled: compiledEnvironment(env), count };
}

/** Refuses environments without a compiled form. */
function checkCompiled(kind: string, env: EnvironmentSource, threads: number): asserts env is string {
  if (!(typeof env === "string" && hasCompiled(env)))
    throw badOption(
      kind,
      `there is no compiled form of ${typeof env === "string" ? env : "this environment"}`,
      "leave compiled out, or register one: registerEnvironment(name, { make, compiled })",
    );
  if (threads > 0)
    throw badOption(
      kind,
      `environments inside the compiled program have no threads, and threads is ${threads}`,
      "leave out threads, or compiled",
    );
}

/** True if the engine is xla, where environments inside the program are faster. */
function onXla({ engine: name, device }: EnvironmentOptions): boolean {
  return engine(name ?? (typeof device === "object" ? device.engine : undefined)).name === "xla";
}

/** Makes `count` environments on the host, in this thread or on workers. */
export function hostEnvironments(
  kind: string,
  options: EnvironmentOptions,
  count: number,
): VectorEnvironment {
  const { env, onFailure, onRestart, timeout } = options;
  checkSource(kind, "env", env);
  const threads = options.threads ?? (typeof env === "object" ? 1 : 0);
  checkThreads(kind, env, threads);
  const vector = { count, onFailure, onRestart };
  if (threads === 0) return vectorEnvironment({ make: env as string | (() => Environment), ...vector });
  const { module, name } = env as EnvironmentModule;
  return threadedEnvironment({
    make: typeof env === "string" ? env : { module: moduleUrl(kind, "env.module", module), name },
    ...vector,
    threads,
    timeout,
  });
}

/** Refuses a source that cannot be used in this thread, or on workers. */
function checkThreads(kind: string, env: EnvironmentSource, threads: number): void {
  if (threads === 0 && typeof env === "object")
    throw badOption(
      kind,
      "env is a file, which only threads load",
      "give the function itself, or leave threads out",
    );
  if (threads > 0 && typeof env === "function")
    throw badOption(
      kind,
      "env is a function, which threads cannot be given",
      "give { module, name }: the file that exports it, such as import.meta.url, and under which name",
    );
  if (threads > 0 && typeof env === "string") checkKnownEverywhere(env);
}
