import { checkOptions, type EspalierError, type Options, option, required } from "../../core/index.ts";
import type { Environment } from "../environments/environment.ts";
import { makeEnvironment } from "../environments/registry.ts";
import { type FailurePolicy, failurePolicies } from "./failure.ts";
import { hostVector } from "./host-vector.ts";
import { makeEnvironments } from "./make-environments.ts";
import { ownMemory, sizesOf } from "./memory.ts";
import { EnvironmentRows, noEvents } from "./rows.ts";
import type { RestartingVector } from "./vector.ts";

/** Rows of the options that vectors of both kinds have. */
export const vectorOptionTable = {
  /** How many environments. */
  count: option.integer({ min: 1, required: true }),
  /** The reaction to an environment that fails, for all or by index. Default: "stop". */
  onFailure: option.made<FailurePolicy | ((index: number) => FailurePolicy)>(
    `"stop", "restart", or a function of the index that returns one of them`,
    (value) => value === "stop" || value === "restart" || typeof value === "function",
    {},
  ),
  /** Called with the reason when an environment is made again, under `onFailure: "restart"`. Default: a process warning. */
  onRestart: option.function<(error: EspalierError) => void>("a function of the error", {}),
};

/** Options of vectors in this thread and in other threads. */
export interface VectorOptions extends Options<typeof vectorOptionTable> {}

const optionTable = {
  ...vectorOptionTable,
  /** Makes the environment of an index, or the name of a registered one. */
  make: required(
    option.made<string | ((index: number) => Environment)>(
      "the name of an environment, or a function that makes the environment of an index",
      (value) => typeof value === "string" || typeof value === "function",
      {},
    ),
  ),
};

/**
 * Environments that step together in this thread, one after the other: for environments as light as CartPole, whose
 * steps take less time than a message to another thread.
 *
 * An environment that fails is named with its index and step. Under `onFailure: "restart"` it is made again, and the
 * others are not affected. Nothing can be done here about a call that does not return, because nothing else runs in the
 * meantime: use {@link threadedEnvironment} for such environments.
 *
 * @example
 * ```ts
 * const vector = vectorEnvironment({ make: "CartPole-v1", count: 4 });
 * vector.reset(42);
 * for (let t = 0; t < 128; t++) {
 *   vector.step(policy(vector.observations));
 *   for (const { return: total, length } of vector.ended()) console.log(total, length);
 * }
 * ```
 */
export function vectorEnvironment(options: Options<typeof optionTable>): RestartingVector {
  checkOptions("vectorEnvironment", options, optionTable);
  const { make: given, count, onFailure, onRestart } = options;
  const make = typeof given === "string" ? () => makeEnvironment(given) : given;
  const { description, environments } = makeEnvironments(make, 0, count);
  const memory = ownMemory(sizesOf(description, count));
  const policies = failurePolicies(onFailure, count);
  const events = noEvents();
  const stepper = new EnvironmentRows({ description, memory, environments, make, policies, events });
  const parts = [{ first: 0, count, memory }];
  return hostVector({ description, outputs: memory, parts, stepper, events, onRestart, make: given });
}
