import { EspalierError, errorText } from "../../core/index.ts";
import type { Fault } from "../environments/environment.ts";

/**
 * The reaction to an environment that fails: "stop" raises the error; "restart" makes that one environment again and goes
 * on. The step that failed then gives the row's last good observation, a reward of 0 and `truncated`, and does not
 * count as a step of the episode; the next step begins an episode in the new environment.
 */
export type FailurePolicy = "stop" | "restart";

/** The call of an environment that went wrong. */
export interface Place {
  readonly name: string;
  /** Index of the environment in its vector. */
  readonly index: number;
  /** Steps of the vector since its reset, the failed one included; 0 during the reset. In evaluations: of the episode. */
  readonly step: number;
  readonly during: "make" | "reset" | "step" | "getState" | "setState";
  /** Number of the evaluation's episode. */
  readonly episode?: number | undefined;
}

function where({ name, index, step, during, episode }: Place): string {
  const when = episode === undefined ? `step ${step}` : `step ${step} of evaluation episode ${episode}`;
  return `${name} (environment ${index} of its vector, ${when}): ${during}()`;
}

/** The error about an environment that broke its contract. */
export const invalidEnvironment = (place: Place, { what, fix, cause }: Fault): EspalierError =>
  new EspalierError("ENVIRONMENT_INVALID", `${where(place)} ${what}`, { fix, cause });

/** The warning about an observation outside the bounds of its space. */
export const outOfBoundsText = (place: Place, what: string): string =>
  `${where(place)} gave an observation of ${what}; declare the bounds as they are, or clip: clipObservations(environment, { low, high }). This warning is given once`;

/** The error about an environment that threw. */
export function failedEnvironment(place: Place, cause: unknown): EspalierError {
  const known = cause instanceof EspalierError ? cause : undefined;
  // Environments made by defineEnvironment find by themselves that they break the contract.
  const invalid = known?.code === "ENVIRONMENT_INVALID" ? known.code : undefined;
  return new EspalierError(invalid ?? "ENVIRONMENT_FAILED", `${where(place)} threw ${causeText(cause)}`, {
    fix: known?.fix ?? fixOf(place),
    cause,
  });
}

function fixOf({ during, episode }: Place): string {
  if (episode !== undefined) return "fix the cause; checkEnvironment of espalier/testing looks for more";
  if (during !== "reset" && during !== "step") return "fix the cause";
  return `fix the cause, or let onFailure: "restart" make such an environment again`;
}

function causeText(cause: unknown): string {
  if (cause instanceof EspalierError) return errorText(cause);
  return cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
}

/** The error about an environment that ended its thread. */
export const endedEnvironment = (place: Place): EspalierError =>
  new EspalierError("ENVIRONMENT_FAILED", `${where(place)} ended its thread`, {
    fix: "do not call process.exit() in environments, and look at their use of memory",
  });

/** The error about an environment that does not return within `timeout` milliseconds. */
export const hangingEnvironment = (place: Place, timeout: number): EspalierError =>
  new EspalierError("ENVIRONMENT_HANGS", `${where(place)} has not returned within ${timeout / 1000} s`, {
    fix: `look for a loop that does not end; if it only takes long, give a larger timeout; onFailure: "restart" goes on without it`,
  });

/** Times in a row that an environment may fail without a good step in between. */
export const maxFailures = 3;

/** The error about an environment that has failed `maxFailures` times in a row. */
export const failsAgain = (error: EspalierError): EspalierError =>
  new EspalierError(error.code, `${errorText(error)}; it had just been made again, and fails each time`, {
    fix: error.fix ?? "fix the environment",
    cause: error,
  });

/** The failure policy of each environment: 1 where it is restarted. */
export function failurePolicies(
  onFailure: FailurePolicy | ((index: number) => FailurePolicy) | undefined,
  count: number,
): Uint8Array {
  return Uint8Array.from({ length: count }, (_, index) => {
    const policy = (typeof onFailure === "function" ? onFailure(index) : onFailure) ?? "stop";
    if (policy === "stop" || policy === "restart") return policy === "restart" ? 1 : 0;
    throw new EspalierError("OPTION_INVALID", `onFailure cannot be ${JSON.stringify(policy)}`, {
      fix: `use "stop", "restart", or a function of the index that returns one of them`,
    });
  });
}
