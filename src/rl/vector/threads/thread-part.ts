import type { EspalierError } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import { failsAgain, invalidEnvironment, maxFailures } from "../failure.ts";
import type { VectorPart } from "../host-vector.ts";
import type { Description } from "../make-environments.ts";
import { episodeKeys, type Memory, partOf, resultKeys } from "../memory.ts";
import type { RowEvents } from "../rows.ts";
import { quiet, type Reply, ThreadClient, type ThreadOptions } from "./thread-client.ts";

/** What all threads of a vector share. */
interface SharedParts {
  readonly description: Description;
  /** The vector's results. */
  readonly outputs: Memory;
  readonly events: RowEvents;
}

/** The counts and results of one environment after a finished step. */
type EnvironmentMemory = Pick<Memory, (typeof episodeKeys)[number] | (typeof resultKeys)[number]>;

/**
 * Some environments of a vector that one thread steps. When that thread is lost, another one takes over:
 *
 *   step(actions)
 *     every 256 steps: take the environments' states and memory into the log
 *     write the actions, add them to the log, send "step", wait
 *     the thread hangs or is gone in environment i:
 *       i may not be restarted: raise the error; otherwise i is failed
 *       start another thread, restore the log's states and memory, repeat its steps without the failed environments
 *       an environment that shows something else than before breaks the contract: it is failed too
 *       send "step" again: it makes failed environments again instead of stepping them
 */
export class ThreadPart implements VectorPart {
  readonly first: number;
  readonly count: number;
  readonly #options: ThreadOptions;
  readonly #shared: SharedParts;
  /** Its part of the vector's results. */
  readonly #outputs: Memory;
  #client: ThreadClient;
  /** Only if an environment may be restarted. */
  readonly #log: StepLog | undefined;
  /** Environments in which a thread was lost since the last finished request, with their memory before that. */
  readonly #failed = new Map<number, EnvironmentMemory>();

  constructor(options: ThreadOptions, client: ThreadClient, shared: SharedParts) {
    this.first = options.first;
    this.count = options.count;
    this.#options = options;
    this.#shared = shared;
    this.#outputs = partOf(shared.outputs, this.first, this.count);
    this.#client = client;
    client.attach(shared.description);
    if (options.policies.includes(1)) this.#log = new StepLog(client.buffer.byteLength);
  }

  get memory(): Memory {
    return this.#client.memory;
  }

  /** Starts another thread if this one was lost. */
  revive(): void {
    if (this.#client.hasEnded) this.#client = this.#startThread();
  }

  /** Sends `step` with the actions of all environments, or `begin` without. */
  send(actions?: Float32Array): void {
    const { memory } = this;
    memory.nextLessons.set(this.#outputs.nextLessons);
    if (this.#failed.size > 0) this.#failed.clear();
    if (!actions) {
      this.#log?.outdate();
      this.#client.send("begin");
      return;
    }
    const from = this.first * (memory.actions.length / this.count);
    for (let k = 0; k < memory.actions.length; k++) memory.actions[k] = actions[from + k] as number;
    this.#log?.add(memory);
    this.#client.send("step");
  }

  /** Waits for `begin` or `step` and copies its results. Returns the error that stops the vector. */
  finish(command: "begin" | "step"): unknown {
    try {
      this.#finished(command);
      return undefined;
    } catch (error) {
      return error;
    } finally {
      for (const key of resultKeys) this.#outputs[key].set(this.memory[key]);
    }
  }

  /** Waits, in another thread if this one is lost. */
  #finished(command: "begin" | "step"): void {
    for (;;) {
      const { error, lostIn, events } = this.#client.wait(command === "begin" ? "reset" : "step");
      if (events) {
        this.#restarted(...events.restarts);
        this.#shared.events.infos.push(...events.infos);
        this.#shared.events.outOfBounds.push(...events.outOfBounds);
      }
      if (!error) return;
      if (lostIn === undefined) throw error;
      this.#client = this.#replacement(command, lostIn, error);
      this.#client.send(command);
    }
  }

  /** True if the log needs states before another step. */
  get needsStates(): boolean {
    return this.#log?.isDue ?? false;
  }

  /** Begins the log with these states. */
  beginLog(states: readonly StateTree[]): void {
    this.#log?.begin(states, this.#client.buffer);
  }

  sendStates(): void {
    this.#client.send("states");
  }

  finishStates(): Reply {
    return this.#client.wait("getState");
  }

  restore(states: readonly StateTree[]): void {
    this.#log?.outdate();
    this.#client.request("setState", "restore", states);
  }

  close(): void {
    this.#client.tryRequest("make", "close");
    this.#client.end();
  }

  #restarted(...restarts: RowEvents["restarts"]): void {
    this.#shared.events.restarts.push(...restarts);
    if (restarts.length > 0) this.#log?.outdate();
  }

  #startThread(): ThreadClient {
    const client = new ThreadClient(this.#options, this.#shared.description.masked);
    client.made();
    client.attach(this.#shared.description);
    return client;
  }

  /** The thread that takes over after one was lost in environment `lostIn`. Raises the error that stops the vector. */
  #replacement(command: "begin" | "step", lostIn: number, why: EspalierError): ThreadClient {
    const { memory: before } = this.#client;
    this.#fail(before, lostIn, why);
    for (;;) {
      const client = this.#startThread();
      try {
        const { error, lostIn: again } = command === "step" ? this.#repeatSteps(client) : quiet;
        const { memory } = client;
        if (!error) {
          for (const key of ["actions", "nextLessons", "step", "seeds"] as const)
            memory[key].set(before[key]);
          for (const i of this.#failed.keys()) memory.failed[i] = 1;
          if (command === "step") this.#compare(client);
          return client;
        }
        if (again === undefined) throw error;
        this.#fail(memory, again, error);
      } catch (error) {
        client.end();
        throw error;
      }
    }
  }

  /** Marks an environment as failed. Raises the error, if it may not be restarted. */
  #fail(memory: Memory, i: number, error: EspalierError): void {
    if (!this.#options.policies[i]) throw error;
    if (this.#failed.has(i) || (memory.failures[i] as number) + 1 >= maxFailures) throw failsAgain(error);
    // The thread was lost in it and has not changed its counts; its results are the vector's last.
    const [counts, results] = [partOf(memory, i), partOf(this.#outputs, i)];
    const saved = [
      ...episodeKeys.map((key) => [key, counts[key].slice()]),
      ...resultKeys.map((key) => [key, results[key].slice()]),
    ];
    this.#failed.set(i, Object.fromEntries(saved) as EnvironmentMemory);
    this.#restarted({ index: this.first + i, error });
  }

  /** Does in a new thread what the lost one had done since the log began. */
  #repeatSteps(client: ThreadClient): Reply {
    const log = this.#log as StepLog;
    const states = log.restore(client.buffer);
    for (const i of this.#failed.keys()) {
      client.memory.failed[i] = 1;
      // Its state is not restored.
      client.memory.fresh[i] = 1;
    }
    let reply = client.tryRequest("setState", "restore", states);
    for (const { actions, nextLessons } of log.finished) {
      if (reply.error) break;
      client.memory.actions.set(actions);
      client.memory.nextLessons.set(nextLessons);
      reply = client.tryRequest("step", "repeat");
    }
    return reply;
  }

  /** Compares what environments show with what the vector returned last, and gives failed ones their memory back. */
  #compare(client: ThreadClient): void {
    const { memory } = client;
    for (let i = 0; i < this.count; i++) {
      const [now, last] = [partOf(memory, i), partOf(this.#outputs, i)];
      const same = resultKeys.every((key) => now[key].every((value, k) => Object.is(value, last[key][k])));
      if (this.#failed.has(i) || same) continue;
      const error = invalidEnvironment(client.place(i, "step"), {
        what: "gave something else when it was repeated from the same state with the same actions",
        fix: "keep everything the environment's future depends on in getState(), its random numbers included",
      });
      this.#fail(memory, i, error);
      memory.failed[i] = 1;
    }
    for (const [i, saved] of this.#failed) {
      const now = partOf(memory, i);
      for (const key of [...episodeKeys, ...resultKeys]) now[key].set(saved[key]);
    }
  }
}

/** Steps after which states are taken again: quick to repeat, and rare enough that taking states costs nothing. */
const capacity = 256;

/** States of a thread's environments as they once were, and the steps since then. */
class StepLog {
  readonly #memory: Uint8Array;
  #states: readonly StateTree[] = [];
  #steps: Pick<Memory, "actions" | "nextLessons">[] = [];
  #isOutdated = true;

  constructor(bytes: number) {
    this.#memory = new Uint8Array(bytes);
  }

  /** True if states have to be taken before another step. */
  get isDue(): boolean {
    return this.#isOutdated || this.#steps.length === capacity;
  }

  /** Says that the logged steps do not lead to the present state any more. */
  outdate(): void {
    this.#isOutdated = true;
  }

  /** Begins with these states, and the memory as it is now. */
  begin(states: readonly StateTree[], buffer: SharedArrayBuffer): void {
    this.#states = states;
    this.#memory.set(new Uint8Array(buffer));
    this.#steps = [];
    this.#isOutdated = false;
  }

  add({ actions, nextLessons }: Memory): void {
    this.#steps.push({ actions: actions.slice(), nextLessons: nextLessons.slice() });
  }

  /** Puts memory back as it was when the states were taken, and returns them. */
  restore(buffer: SharedArrayBuffer): readonly StateTree[] {
    new Uint8Array(buffer).set(this.#memory);
    return this.#states;
  }

  /** All steps but the last one, which was not finished. */
  get finished(): readonly Pick<Memory, "actions" | "nextLessons">[] {
    return this.#steps.slice(0, -1);
  }
}
