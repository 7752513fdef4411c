import { badOption, checkOptions, checkSize, shown } from "../../core/index.ts";
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
  urlOf,
} from "../environments/registry.ts";
import { checkFlag } from "../on-policy/check-numbers.ts";
import { isCompiled } from "../on-policy/check-options.ts";
import type { OnPolicyOptions } from "../on-policy/options.ts";
import { failurePolicies } from "../vector/failure.ts";
import { threadedEnvironment, timeoutOption } from "../vector/threads/threaded-environment.ts";
import type { VectorEnvironment, VectorOptions } from "../vector/vector.ts";
import { vectorEnvironment } from "../vector/vector-environment.ts";

/** Where an agent's environments run. */
export interface EnvironmentChoice {
  /** The name of a registered environment, a function that makes one, or the file and name of such a function. */
  readonly env: EnvironmentSource;
  /** Inside the compiled program; default where there is such a form of it and the engine is xla. */
  readonly compiled?: boolean | undefined;
  /** On so many threads; default 0: in this one; 1 for environments of a file, which threads load. */
  readonly threads?: number | undefined;
  /** What happens when an ordinary environment fails, for all or by index. Default "stop". */
  readonly onFailure?: VectorOptions["onFailure"] | undefined;
  /** Told why an environment was made anew, under `onFailure: "restart"`. Default a warning of the process. */
  readonly onRestart?: VectorOptions["onRestart"] | undefined;
  /** Seconds after which an environment on a thread is taken for one that hangs. Default: 30. */
  readonly timeout?: number | undefined;
  readonly engine?: EngineChoice | undefined;
  readonly device?: number | Device | undefined;
}

/** Names of these options, but for engine and device, which tasks have too. */
export const choiceNames = ["env", "compiled", "threads", "onFailure", "onRestart", "timeout"] as const;

/** What is known of an agent's environments when it is made. */
export type KnownEnvironment = Pick<
  Environment,
  "name" | "observationSpace" | "actionSpace" | "agents" | "lessons"
>;

/**
 * Refuses a choice that no environments can be made of, when an agent is made. Gives what is known of them then: one is
 * made for that, and closed. Of a file nothing is known before threads load it.
 */
export function checkChoice(kind: string, choice: EnvironmentChoice): KnownEnvironment | undefined {
  const { env, threads, compiled, onFailure, onRestart, timeout } = choice;
  checkSource(kind, "env", env);
  if (typeof env === "string") hasCompiled(env); // Refuses a name that there is not.
  if (threads !== undefined && threads !== 0) checkSize(kind, "threads", threads);
  checkOptions(kind, { timeout }, { timeout: timeoutOption });
  checkFlag(kind, "compiled", compiled);
  if (onRestart !== undefined && typeof onRestart !== "function")
    throw badOption(kind, `onRestart is ${shown(onRestart)}`, "give a function of the error");
  failurePolicies(typeof onFailure === "function" ? undefined : onFailure, 1);
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

/** So many of the chosen environments, compiled or not. */
export function environmentsOf(
  kind: string,
  choice: EnvironmentChoice,
  count: number,
): OnPolicyOptions["environment"] {
  const { env, threads = 0, compiled } = choice;
  checkSource(kind, "env", env);
  const there = typeof env === "string" && hasCompiled(env);
  if (!(compiled ?? (there && threads === 0 && choice.onFailure === undefined && onXla(choice))))
    return ordinaryEnvironments(kind, choice, count);
  checkCompiled(kind, env, threads);
  return { compiled: compiledEnvironment(env), count };
}

/** Refuses environments inside the program where there is no such form of them. */
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

/** Whether the engine that is chosen, or comes by itself, is xla: there environments inside the program are faster. */
function onXla({ engine: choice, device }: EnvironmentChoice): boolean {
  return engine(choice ?? (typeof device === "object" ? device.engine : undefined)).name === "xla";
}

/** How many agents step together. */
export const rowsIn = (environment: OnPolicyOptions["environment"]): number =>
  isCompiled(environment) ? environment.count * (environment.compiled.agents ?? 1) : environment.rows;

/** Makes a task of environments, which end with it where that fails. */
export function withEnvironments<T>(environment: OnPolicyOptions["environment"], make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!isCompiled(environment)) environment.close();
    throw error;
  }
}

/** So many of the chosen environments, in this process or on threads. */
export function ordinaryEnvironments(
  kind: string,
  choice: EnvironmentChoice,
  count: number,
): VectorEnvironment {
  const { env, onFailure, onRestart, timeout } = choice;
  checkSource(kind, "env", env);
  const threads = choice.threads ?? (typeof env === "object" ? 1 : 0);
  checkThreads(kind, env, threads);
  const manners = { count, ...(onFailure && { onFailure }), ...(onRestart && { onRestart }) };
  if (threads === 0) return vectorEnvironment({ make: env as string | (() => Environment), ...manners });
  const { module, name } = env as EnvironmentModule;
  return threadedEnvironment({
    make: typeof env === "string" ? env : { module: moduleUrl(kind, module), name },
    ...{ ...manners, threads, ...(timeout !== undefined && { timeout }) },
  });
}

/** Refuses a source that cannot be used where the environments are to run: here, or on threads. */
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
  if (typeof env === "object") moduleUrl(kind, env.module);
  if (threads > 0 && typeof env === "string") checkKnownEverywhere(env);
}

/** A file by its URL or absolute path. */
function moduleUrl(kind: string, module: string): URL {
  const url = urlOf(module);
  if (URL.canParse(url)) return new URL(url);
  throw badOption(
    kind,
    `env.module is ${shown(module)}, which is neither a URL nor an absolute path`,
    'give new URL("./my-environment.ts", import.meta.url).href',
  );
}
