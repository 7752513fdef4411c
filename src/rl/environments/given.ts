import { EspalierError } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Environment } from "./environment.ts";

/** What is wrong with something that was given, and what to do. */
export interface GivenFault {
  readonly what: string;
  readonly fix: string;
}

/** What somebody gave in place of something else, in words. */
export function inPlace(given: unknown): string {
  if (isPromise(given)) return "a promise: environments are synchronous";
  if (Array.isArray(given)) return "a list";
  if (ArrayBuffer.isView(given)) return `a ${given.constructor.name}`;
  return typeof given === "object" && given !== null ? "an object" : String(given);
}

export const isPromise = (given: unknown): boolean =>
  typeof (given as { readonly then?: unknown } | null | undefined)?.then === "function";

const wanted = {
  reset: "{ observation }",
  step: "{ observation, reward, terminated, truncated }",
} as const;

/** What is wrong with the kind of thing that an environment's `reset` or `step` gave, before its parts are looked at. */
export function givenFault(during: "reset" | "step", given: unknown): GivenFault | undefined {
  if ((given as { readonly observation?: unknown } | undefined)?.observation !== undefined) return undefined;
  const kind = inPlace(given);
  return {
    what: kind === "an object" ? "gave an object without an observation" : `gave ${kind}`,
    fix: isPromise(given)
      ? `give ${wanted[during]} itself and not a promise of it: leave async out of ${during}()`
      : `give ${wanted[during]}`,
  };
}

/** Refuses what cannot be what `reset` or `step` of an environment gives. */
export function checkGiven<T>({ name }: Environment, during: "reset" | "step", given: T): T {
  const fault = givenFault(during, given);
  if (!fault) return given;
  throw new EspalierError("ENVIRONMENT_INVALID", `${name}: ${during}() ${fault.what}`, { fix: fault.fix });
}

/** Refuses what is no environment. */
export function checkMade(made: unknown, by: string): Environment {
  const { reset, step } = (made ?? {}) as Partial<Environment>;
  if (typeof reset === "function" && typeof step === "function") return made as Environment;
  throw new EspalierError("ENVIRONMENT_INVALID", `${by} gave ${inPlace(made)}, and no environment`, {
    fix: "let it return a new environment, with reset and step, at once",
  });
}

/** The state of an environment, which not every class has thought of. */
export function stateOf(environment: Environment): StateTree {
  if (typeof environment.getState === "function") return environment.getState();
  throw new EspalierError(
    "ENVIRONMENT_INVALID",
    `${environment.name} has no getState(), and its state is part of what is saved`,
    {
      fix: "give it getState() and setState(state), or make it by defineEnvironment",
    },
  );
}
