import { badOption, shown } from "../../core/index.ts";
import { type Device, type EngineChoice, engine } from "../../engine/index.ts";
import type { Environment } from "../environments/environment.ts";
import { compiledEnvironment, hasCompiled } from "../environments/registry.ts";
import { checkSource, type EnvironmentSource, urlOf } from "../evaluation/environment-source.ts";
import { isCompiled } from "../on-policy/check-options.ts";
import type { OnPolicyOptions } from "../on-policy/options.ts";
import { threadedEnvironment } from "../vector/threads/threaded-environment.ts";
import type { VectorEnvironment } from "../vector/vector.ts";
import { vectorEnvironment } from "../vector/vector-environment.ts";
import type { VectorOptions } from "../vector/vector-options.ts";

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
  /** Milliseconds after which an environment on a thread is taken for one that hangs. Default 30,000. */
  readonly timeout?: number | undefined;
  readonly engine?: EngineChoice | undefined;
  readonly device?: number | Device | undefined;
}

/** Names of these options, but for engine and device, which tasks have too. */
export const choiceNames = ["env", "compiled", "threads", "onFailure", "onRestart", "timeout"] as const;

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
  if (!there)
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
  return { compiled: compiledEnvironment(env) as never, count };
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
  const manners = { count, ...(onFailure && { onFailure }), ...(onRestart && { onRestart }) };
  if (threads === 0) {
    if (typeof env === "object")
      throw badOption(
        kind,
        "env is a file, which only threads load",
        "give the function itself, or leave threads out",
      );
    return vectorEnvironment({ make: env as string | (() => Environment), ...manners });
  }
  if (typeof env === "function")
    throw badOption(
      kind,
      "env is a function, which threads cannot be given",
      "give { module, name }: the file that exports it, such as import.meta.url, and under which name",
    );
  return threadedEnvironment({
    make: typeof env === "string" ? env : { module: moduleUrl(kind, env.module), name: env.name },
    ...{ ...manners, threads, ...(timeout !== undefined && { timeout }) },
  });
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
