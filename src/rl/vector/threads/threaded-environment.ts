import { availableParallelism } from "node:os";
import { badOption, checkNames, checkSize, shown } from "../../../core/index.ts";
import { failurePolicies } from "../failure.ts";
import { HostVector } from "../host-vector.ts";
import { type RestartingVector, type VectorOptions, warnOfRestart } from "../vector-options.ts";
import type { LinkOptions } from "./link.ts";
import type { Source } from "./protocol.ts";
import { ThreadStepper } from "./thread-stepper.ts";

/** Options of {@link threadedEnvironment}. */
export interface ThreadedEnvironmentOptions extends VectorOptions {
  /**
   * The name of a built-in environment, or a module (its URL, mostly `new URL("./my-environment.ts", import.meta.url)`)
   * and the name of a function it exports, which makes the environment of an index.
   */
  readonly make: string | { readonly module: URL | string; readonly name: string };
  /** How many threads the environments are split over. Default one a processor. */
  readonly threads?: number;
  /** Seconds that one call of an environment may take before it counts as hanging. Default: 30. */
  readonly timeout?: number;
}

/**
 * Environments that step at the same time in threads, over shared memory: for environments whose steps take some tens
 * of microseconds or more. It gives what {@link vectorEnvironment} gives with the same seed, bit for bit, and
 * waits for the threads without turning the event loop. The threads end with `close()` or with the process, which they
 * do not keep alive. What environments print appears when the threads have nothing to do.
 *
 * An environment that hangs is found out after `timeout` (after twice that at the latest), and its thread is ended.
 * Under `onFailure: "restart"` another thread takes its place, in which that environment is made anew. The others of
 * the lost thread go on as if nothing had happened: the thread's states are taken every 256 steps, and restored, and the
 * actions since then are repeated. That holds for environments that keep their contract, the same state and actions lead
 * to the same; one that shows something else is treated as failed. A hang in `getState` or `setState` always stops.
 *
 * @example
 * ```ts
 * const vector = threadedEnvironment({
 *   make: { module: new URL("./maze.ts", import.meta.url), name: "makeMaze" },
 *   count: 64,
 *   threads: 8,
 *   timeout: 5,
 *   onFailure: "restart",
 * });
 * vector.reset(42);
 * ```
 */
export function threadedEnvironment(options: ThreadedEnvironmentOptions): RestartingVector {
  const kind = "threadedEnvironment";
  checkNames(kind, options, ["make", "count", "threads", "timeout", "onFailure", "onRestart"]);
  const count = checkSize(kind, "count", options.count);
  const threads = Math.min(checkSize(kind, "threads", options.threads ?? availableParallelism()), count);
  const timeout = 1000 * checkTimeout(kind, options.timeout ?? 30);
  const source = sourceOf(options.make);
  const policies = failurePolicies(options.onFailure, count);
  const stepper = new ThreadStepper(
    count,
    Array.from({ length: threads }, (_, t): LinkOptions => {
      const first = Math.floor((t * count) / threads);
      const end = Math.floor(((t + 1) * count) / threads);
      return { source, first, count: end - first, policies: policies.slice(first, end), timeout };
    }),
  );
  return new HostVector(stepper.description, stepper.outputs, stepper, {
    onRestart: options.onRestart ?? warnOfRestart,
    make: options.make,
  });
}

/** Refuses what is no time in seconds. */
export function checkTimeout(kind: string, given: unknown): number {
  if (typeof given === "number" && given > 0) return given;
  throw badOption(kind, `timeout is ${shown(given)}`, "give seconds above 0, or Infinity");
}

function sourceOf(make: unknown): Source {
  if (typeof make === "string") return make;
  const { module, name } = (make ?? {}) as { readonly module?: URL | string; readonly name?: unknown };
  if (typeof name === "string" && (module instanceof URL || /^(file|data|node):/.test(module ?? "")))
    return { module: String(module), name };
  const fix =
    "give the name of a built-in environment, or { module: new URL(..., import.meta.url), name }: threads share no functions";
  throw badOption("threadedEnvironment", `make is ${shown(make)}`, fix);
}
