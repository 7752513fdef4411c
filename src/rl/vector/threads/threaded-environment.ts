import { checkOptions, node, type Options, option, required } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import { failurePolicies } from "../failure.ts";
import { hostVector, type Stepper } from "../host-vector.ts";
import { checkAlike, type Description } from "../make-environments.ts";
import { type Memory, ownMemory, sizesOf } from "../memory.ts";
import { noEvents } from "../rows.ts";
import type { RestartingVector } from "../vector.ts";
import { vectorOptionTable } from "../vector-environment.ts";
import type { ThreadSource } from "./protocol.ts";
import { ThreadClient, type ThreadOptions } from "./thread-client.ts";
import { ThreadPart } from "./thread-part.ts";

export const timeoutOption = option.number({
  above: 0,
  infinite: true,
  default: 30,
  doc: "Seconds that one call of an environment may take before it counts as hanging.",
});

type ThreadedMake = string | { readonly module: URL | string; readonly name: string };

const optionTable = {
  ...vectorOptionTable,
  /**
   * The name of a built-in environment, or a module (its URL, usually `new URL("./my-environment.ts", import.meta.url)`)
   * and the name of a function it exports, which makes the environment of an index.
   */
  make: required(
    option.made<ThreadedMake>(
      "the name of a built-in environment, or { module: new URL(..., import.meta.url), name }: threads share no functions",
      (value) => sourceOf(value) !== undefined,
      {},
    ),
  ),
  /** How many threads the environments are split over. Default: one per processor. */
  threads: option.integer({ min: 1 }),
  /** Seconds that one call of an environment may take before it counts as hanging. Default: 30. */
  timeout: timeoutOption,
};

/** Options of {@link threadedEnvironment}. */
export interface ThreadedEnvironmentOptions extends Options<typeof optionTable> {}

/**
 * Environments that step at the same time in threads, over shared memory: for environments whose steps take some tens
 * of microseconds or more. It gives what {@link vectorEnvironment} gives with the same seed, bit for bit, and
 * waits for the threads without turning the event loop. The threads end with `close()` or with the process, which they
 * do not keep alive.
 *
 * An environment that hangs is found out after `timeout` (after twice that at the latest), and its thread is ended.
 * Under `onFailure: "restart"` another thread takes over, in which that environment is made again. The others of
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
  checkOptions("threadedEnvironment", options, optionTable);
  const { make, count, onFailure, onRestart, timeout = timeoutOption.default } = options;
  const threads = Math.min(options.threads ?? node.os.availableParallelism(), count);
  const source = sourceOf(make) as ThreadSource;
  const policies = failurePolicies(onFailure, count);
  const stepper = new ThreadStepper(
    count,
    Array.from({ length: threads }, (_, t): ThreadOptions => {
      const first = Math.floor((t * count) / threads);
      const end = Math.floor(((t + 1) * count) / threads);
      return {
        source,
        first,
        count: end - first,
        policies: policies.slice(first, end),
        timeout: 1000 * timeout,
      };
    }),
  );
  const { description, outputs, parts, events } = stepper;
  return hostVector({ description, outputs, parts, stepper, events, onRestart, make });
}

/** The source that `make` means; undefined if it means none. */
function sourceOf(make: unknown): ThreadSource | undefined {
  if (typeof make === "string") return make;
  const { module, name } = (make ?? {}) as { readonly module?: URL | string; readonly name?: unknown };
  const isUrl = module instanceof URL || /^(file|data|node):/.test(module ?? "");
  return typeof name === "string" && isUrl ? { module: String(module), name } : undefined;
}

/** Steps environments in other threads, all at the same time. */
class ThreadStepper implements Stepper {
  readonly description: Description;
  readonly outputs: Memory;
  readonly parts: readonly ThreadPart[];
  readonly events = noEvents();

  constructor(count: number, threads: readonly ThreadOptions[]) {
    const clients = threads.map((options) => new ThreadClient(options));
    try {
      const descriptions = clients.map((client) => client.made());
      const description = descriptions[0] as Description;
      descriptions.forEach((other, t) => {
        checkAlike(description, other, threads[t]?.first ?? 0);
      });
      const outputs = ownMemory(sizesOf(description, count));
      this.description = description;
      this.outputs = outputs;
      const shared = { description, outputs, events: this.events };
      this.parts = clients.map((client, t) => new ThreadPart(threads[t] as ThreadOptions, client, shared));
    } catch (error) {
      for (const client of clients) client.end();
      throw error;
    }
  }

  revive(): void {
    for (const part of this.parts) part.revive();
  }

  begin(): void {
    for (const part of this.parts) part.send();
    this.#finish("begin");
  }

  step(actions: Float32Array): void {
    if (this.parts.some((part) => part.needsStates)) {
      const due = this.parts.filter((part) => part.needsStates);
      this.#statesOf(due).forEach((states, i) => due[i]?.beginLog(states));
    }
    for (const part of this.parts) part.send(actions);
    this.#finish("step");
  }

  states(): readonly StateTree[] {
    return this.#statesOf(this.parts).flat();
  }

  #statesOf(parts: readonly ThreadPart[]): readonly (readonly StateTree[])[] {
    for (const part of parts) part.sendStates();
    const replies = parts.map((part) => part.finishStates());
    const stop = replies.find(({ error }) => error);
    if (stop) throw stop.error;
    return replies.map(({ states = [] }) => states);
  }

  restore(states: readonly StateTree[]): void {
    for (const part of this.parts) part.restore(states.slice(part.first, part.first + part.count));
  }

  close(): void {
    for (const part of this.parts) part.close();
  }

  /** Waits for all threads, whatever happens in one of them, so that no request is under way when an error is raised. */
  #finish(command: "begin" | "step"): void {
    const errors = this.parts.map((part) => part.finish(command));
    const stop = errors.find((error) => error);
    if (stop) throw stop;
  }
}
