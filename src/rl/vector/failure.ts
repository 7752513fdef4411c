import { EspalierError } from "../../core/index.ts";

/**
 * What happens when an environment fails: "stop" raises the error; "restart" makes that one environment anew and
 * goes on. The step that failed then gives the row's last good observation, a reward of 0 and `truncated`, and does
 * not count as a step of the episode; the step after it begins an episode in the new environment.
 */
export type FailurePolicy = "stop" | "restart";

/** Where in a vector something went wrong. */
export interface Place {
  readonly name: string;
  /** Of the environment in its vector. */
  readonly index: number;
  /** Steps of the vector since its reset, the one that failed included; 0 while it begins. */
  readonly step: number;
  readonly during: "make" | "reset" | "step" | "getState" | "setState";
}

/** What is wrong with something an environment gave. */
export interface Fault {
  readonly what: string;
  readonly fix: string;
  readonly cause?: unknown;
}

const where = ({ name, index, step, during }: Place): string =>
  `${name} (environment ${index} of its vector, step ${step}): ${during}()`;

/** The error about an environment that broke its contract. */
export const invalidEnvironment = (place: Place, { what, fix, cause }: Fault): EspalierError =>
  new EspalierError("ENVIRONMENT_INVALID", `${where(place)} ${what}`, { fix, cause });

/** The words about an environment that showed something beyond the bounds of its observation space. */
export const outsideText = (place: Place, what: string): string =>
  `${where(place)} gave an observation of ${what}; declare the bounds as they are, or clip: clipObservations(environment, { low, high }). It is said once`;

/** The error about an environment that threw. Some know by themselves that they break the contract. */
export function failedEnvironment(place: Place, cause: unknown): EspalierError {
  const known = cause instanceof EspalierError && cause.code === "ENVIRONMENT_INVALID" ? cause : undefined;
  return new EspalierError(known?.code ?? "ENVIRONMENT_FAILED", `${where(place)} threw ${inWords(cause)}`, {
    fix: known?.fix ?? `mend what the cause tells, or let onFailure: "restart" make such an environment anew`,
    cause,
  });
}

/** The error about an environment whose thread is gone. */
export const endedEnvironment = (place: Place): EspalierError =>
  new EspalierError("ENVIRONMENT_FAILED", `${where(place)} ended its thread`, {
    fix: "leave process.exit() out of environments, and look at their use of memory",
  });

/** The error about an environment that does not come back within so many milliseconds. */
export const hangingEnvironment = (place: Place, timeout: number): EspalierError =>
  new EspalierError("ENVIRONMENT_HANGS", `${where(place)} has not returned within ${timeout / 1000} s`, {
    fix: `look for a loop that does not end; where it only takes long, give a larger timeout; onFailure: "restart" goes on without it`,
  });

/** Times in a row that an environment may fail without a good step in between. */
export const mostFailures = 3;

/** The last failure of an environment that fails whenever it is made anew. */
export const failsAgain = (error: EspalierError): EspalierError =>
  new EspalierError(error.code, `${textOf(error)}; it had just been made anew, and fails each time`, {
    fix: error.fix ?? "mend the environment",
    cause: error,
  });

/** An error's message without its code and fix. */
export const textOf = ({ message, code }: EspalierError): string => message.split(` [${code}]`)[0] as string;

function inWords(cause: unknown): string {
  if (cause instanceof EspalierError) return textOf(cause);
  return cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
}

/** Who does what about failures, for each environment: 1 where it is restarted. */
export function failurePolicies(
  onFailure: FailurePolicy | ((index: number) => FailurePolicy) | undefined,
  count: number,
): Uint8Array {
  return Uint8Array.from({ length: count }, (_, index) => {
    const policy = (typeof onFailure === "function" ? onFailure(index) : onFailure) ?? "stop";
    if (policy === "stop" || policy === "restart") return policy === "restart" ? 1 : 0;
    throw new EspalierError("OPTION_INVALID", `onFailure cannot be ${JSON.stringify(policy)}`, {
      fix: `use "stop", "restart", or a function of the index that gives one of them`,
    });
  });
}
