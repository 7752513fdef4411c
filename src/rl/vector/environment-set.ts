import type { StateTree } from "../../state/index.ts";
import {
  copyState,
  type Environment,
  type Reset,
  type ResetOptions,
  type Step,
  stateOf,
} from "../environments/environment.ts";
import { failedEnvironment, type Place } from "./failure.ts";
import type { Memory } from "./memory.ts";

export interface SetOptions {
  readonly memory: Memory;
  readonly environments: Environment[];
  /** Makes the environment of this index in the vector anew. */
  readonly make: (index: number) => Environment;
  /** Index in the vector of the first one. */
  readonly first: number;
  /** Told before each call of an environment, so that another thread can see which one hangs. */
  readonly calls?: (i: number) => void;
}

/** Environments of one thread: whatever one of them throws is told with its name, index and step. */
export class EnvironmentSet {
  readonly #options: SetOptions;
  readonly #environments: Environment[];
  /** 1 where it has failed, so that nobody knows what it is in. */
  readonly #broken: Uint8Array;

  constructor(options: SetOptions) {
    this.#options = options;
    this.#environments = options.environments;
    this.#broken = new Uint8Array(options.environments.length);
  }

  get count(): number {
    return this.#environments.length;
  }

  place(i: number, during: Place["during"]): Place {
    const { first, memory } = this.#options;
    return { name: this.#at(i).name, index: first + i, step: memory.step[0] as number, during };
  }

  reset(i: number, options: ResetOptions): Reset<unknown> {
    this.#options.calls?.(i);
    return this.#at(i).reset(options);
  }

  step(i: number, action: Parameters<Environment["step"]>[0]): Step<unknown, unknown> {
    this.#options.calls?.(i);
    return this.#at(i).step(action);
  }

  /** It cannot go on as it is. */
  breaks(i: number): void {
    this.#broken[i] = 1;
  }

  /** Makes it anew if it cannot go on as it is. */
  mend(i: number): void {
    if (!this.#broken[i]) return;
    try {
      this.#at(i).close?.();
    } catch {
      // It has failed already, and why is known.
    }
    this.#call(i, "make", () => {
      this.#environments[i] = this.#options.make(this.#options.first + i);
    });
    this.#broken[i] = 0;
  }

  /** The environments' states; null where it does not matter, because the environment begins with a seed. */
  states(): StateTree[] {
    return this.#environments.map((environment, i) =>
      this.#options.memory.fresh[i]
        ? null
        : this.#call(i, "getState", () => copyState(stateOf(environment), environment.name)),
    );
  }

  restore(states: readonly StateTree[]): void {
    for (let i = 0; i < this.count; i++) {
      this.mend(i);
      if (this.#options.memory.fresh[i]) continue;
      // Unless it comes through, it is made anew before it is used again.
      this.#broken[i] = 1;
      this.#call(i, "setState", () => this.#at(i).setState(copyState(states[i], this.#at(i).name)));
      this.#broken[i] = 0;
    }
  }

  close(): void {
    for (const environment of this.#environments) environment.close?.();
  }

  #call<T>(i: number, during: Place["during"], work: () => T): T {
    try {
      this.#options.calls?.(i);
      return work();
    } catch (cause) {
      throw failedEnvironment(this.place(i, during), cause);
    }
  }

  #at(i: number): Environment {
    return this.#environments[i] as Environment;
  }
}
