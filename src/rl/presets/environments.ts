import { badOption } from "../../core/index.ts";
import { devices, type EngineChoice } from "../../engine/index.ts";
import type { Environment } from "../environments/environment.ts";
import { compiledEnvironment, hasCompiled } from "../environments/registry.ts";
import type { EnvironmentSource } from "../evaluation/environment-source.ts";
import type { OnPolicyOptions } from "../on-policy/options.ts";
import { threadedEnvironment } from "../vector/threads/threaded-environment.ts";
import type { VectorEnvironment } from "../vector/vector.ts";
import { vectorEnvironment } from "../vector/vector-environment.ts";

/** Where an agent's environments run. */
export interface EnvironmentChoice {
  /** The name of a registered environment, a function that makes one, or the file and name of such a function. */
  readonly env: EnvironmentSource;
  /** Inside the compiled program; default where there is such a form of it and the engine is xla. */
  readonly compiled?: boolean | undefined;
  /** On so many threads; default 0: in this one. */
  readonly threads?: number | undefined;
  readonly engine?: EngineChoice | undefined;
}

/** So many of the chosen environments, compiled or not. */
export function environmentsOf(
  kind: string,
  choice: EnvironmentChoice,
  count: number,
): OnPolicyOptions["environment"] {
  const { env, threads = 0 } = choice;
  const there = typeof env === "string" && hasCompiled(env);
  const onXla = (): boolean =>
    (choice.engine ?? devices()[0]?.engine) === "xla" || devices()[0]?.engine === "xla";
  const compiled = choice.compiled ?? (there && threads === 0 && choice.engine !== "wasm" && onXla());
  if (!compiled) return ordinaryEnvironments(kind, choice, count);
  if (there) return { compiled: compiledEnvironment(env as string) as never, count };
  throw badOption(
    kind,
    `there is no compiled form of ${typeof env === "string" ? env : "this environment"}`,
    "leave compiled out, or register one: registerEnvironment(name, { make, compiled })",
  );
}

/** So many of the chosen environments, in this process or on threads. */
export function ordinaryEnvironments(
  kind: string,
  { env, threads = 0 }: EnvironmentChoice,
  count: number,
): VectorEnvironment {
  if (threads === 0) {
    if (typeof env === "object")
      throw badOption(
        kind,
        "env is a file, which only threads load",
        "give the function itself, or threads: 2",
      );
    return vectorEnvironment({ make: env as string | (() => Environment), count });
  }
  if (typeof env === "function")
    throw badOption(
      kind,
      "env is a function, which threads cannot be given",
      "register it and give its name, or { module, name }: the file that exports it, and under which name",
    );
  return threadedEnvironment({
    make: typeof env === "string" ? env : { module: new URL(env.module), name: env.name },
    ...{ count, threads },
  });
}
