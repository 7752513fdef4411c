import { EspalierError } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import { copyState, type Environment, stateOf } from "../environments/environment.ts";
import { actionReader } from "./actions.ts";
import {
  failedEnvironment,
  failsAgain,
  invalidEnvironment,
  maxFailures,
  outOfBoundsText,
  type Place,
} from "./failure.ts";
import type { Description } from "./make-environments.ts";
import type { Memory } from "./memory.ts";
import { RowWriter } from "./row-writer.ts";

export interface RowsOptions {
  readonly description: Description;
  readonly memory: Memory;
  readonly environments: Environment[];
  /** Makes the environment of this index in the vector again. */
  readonly make: (index: number) => Environment;
  /** Index in the vector of the first environment. Default: 0. */
  readonly first?: number;
  /** 1 where a failed environment is made again. Default: errors are raised. */
  readonly policies?: Uint8Array;
  /** Called before each call of an environment, so that another thread can see which one hangs. */
  readonly onCall?: (i: number) => void;
  /** Takes what the vector has to be told. Default: nobody is. */
  readonly events?: RowEvents;
  /** The number of the evaluation episode that environment i plays, for messages. */
  readonly episode?: (i: number) => number;
}

/** What environments told while they stepped, by their index in the vector. The vector empties it. */
export interface RowEvents {
  /** Environments that were made again, and the reasons. */
  readonly restarts: { readonly index: number; readonly error: EspalierError }[];
  /** Numbers that steps had in their `info`. */
  readonly infos: { readonly index: number; readonly info: Readonly<Record<string, number>> }[];
  /** Warnings about observations outside their bounds. */
  readonly outOfBounds: string[];
}

export const noEvents = (): RowEvents => ({ restarts: [], infos: [], outOfBounds: [] });

export const hasEvents = ({ restarts, infos, outOfBounds }: RowEvents): boolean =>
  restarts.length + infos.length + outOfBounds.length > 0;

/**
 * The environments of one thread and their rows: next-step autoreset, returns and lengths, and what happens when an
 * environment fails. Vectors of both kinds and evaluations step these, which is why they agree bit for bit.
 */
export class EnvironmentRows {
  readonly #options: RowsOptions;
  readonly #environments: Environment[];
  /** 1 where an environment has failed, so that its state is undefined. */
  readonly #broken: Uint8Array;
  readonly #memory: Memory;
  readonly #writer: RowWriter;
  readonly #read: ReturnType<typeof actionReader>;
  readonly #agents: number;
  #during: "reset" | "step" = "reset";
  #repeating = false;

  constructor(options: RowsOptions) {
    const { description, memory, environments, events } = options;
    this.#options = options;
    this.#environments = environments;
    this.#broken = new Uint8Array(environments.length);
    this.#memory = memory;
    this.#writer = new RowWriter(description, memory, (i, what) =>
      events?.outOfBounds.push(outOfBoundsText(this.#place(i, this.#during), what)),
    );
    this.#read = actionReader(description.actionSpace, description.agents);
    this.#agents = description.agents;
  }

  /** Begins an episode everywhere, from the seeds in memory. */
  begin(): void {
    const { fresh, restarts, failures, step } = this.#memory;
    fresh.fill(1);
    restarts.fill(0);
    failures.fill(0);
    step[0] = 0;
    for (let i = 0; i < this.#environments.length; i++) {
      this.#mend(i);
      this.reset(i);
    }
  }

  /** Steps every environment. While `repeating` logged steps, failed environments are left out. */
  step(actions: Float32Array, repeating = false): void {
    const { terminated, truncated, failed } = this.#memory;
    this.#repeating = repeating;
    for (let i = 0; i < this.#environments.length; i++) {
      if (repeating && failed[i]) continue;
      if (terminated[i * this.#agents] || truncated[i * this.#agents]) this.reset(i);
      else this.act(i, actions);
    }
  }

  /** Steps environment i. If it fails and may be restarted, its episode is truncated. */
  act(i: number, actions: Float32Array): void {
    const { rewards, resets, truncated, failed } = this.#memory;
    const lost = failed[i] === 1;
    const error = lost ? undefined : this.#tryStep(i, actions);
    if (!lost && error === undefined) return;
    this.#restart(i, error);
    // The observation is still the last good one.
    for (let row = i * this.#agents; row < (i + 1) * this.#agents; row++) {
      rewards[row] = 0;
      resets[row] = 0;
      truncated[row] = 1;
    }
  }

  #tryStep(i: number, actions: Float32Array): EspalierError | undefined {
    const action = this.#read(actions, i);
    const { onCall, events, first = 0 } = this.#options;
    let result: unknown;
    try {
      onCall?.(i);
      result = this.#at(i).step(action);
    } catch (cause) {
      return failedEnvironment(this.#place(i, "step"), cause);
    }
    this.#during = "step";
    const fault = this.#writer.step(i, result);
    if (fault) return invalidEnvironment(this.#place(i, "step"), fault);
    if (events && !this.#repeating) {
      const { info } = result as { readonly info?: unknown };
      const numbers = info === undefined ? undefined : numbersIn(info);
      if (numbers) events.infos.push({ index: first + i, info: numbers });
    }
    this.#memory.failures[i] = 0;
    return undefined;
  }

  /** Begins an episode of environment i. If that fails and it may be restarted, it is made again and tried once more. */
  reset(i: number): void {
    const lesson = this.#lesson(i);
    const lost = this.#memory.failed[i] === 1;
    const error = lost ? undefined : this.#tryReset(i, lesson, 0);
    if (!lost && error === undefined) return;
    this.#restart(i, error);
    const again = this.#tryReset(i, lesson, 1);
    if (again === undefined) return;
    this.#broken[i] = 1;
    throw failsAgain(again);
  }

  #tryReset(i: number, lesson: number | undefined, attempt: 0 | 1): EspalierError | undefined {
    const { fresh, seeds, lessons } = this.#memory;
    const seed = fresh[i] ? { seed: seeds[2 * i + attempt] as number } : {};
    let result: unknown;
    try {
      this.#options.onCall?.(i);
      result = this.#at(i).reset(lesson === undefined ? seed : { ...seed, lesson });
    } catch (cause) {
      return failedEnvironment(this.#place(i, "reset"), cause);
    }
    this.#during = "reset";
    const fault = this.#writer.reset(i, result);
    if (fault) return invalidEnvironment(this.#place(i, "reset"), fault);
    fresh[i] = 0;
    lessons[i] = lesson ?? 0;
    return undefined;
  }

  /** The lesson of the next episode; undefined without lessons. */
  #lesson(i: number): number | undefined {
    const { lessons, name } = this.#options.description;
    const lesson = this.#memory.nextLessons[i] as number;
    if (lesson >= 0 && lesson < (lessons?.length ?? 1)) return lessons && lesson;
    throw new EspalierError(
      "LESSON_INVALID",
      `nextLessons has ${lesson} for environment ${this.#place(i, "reset").index}, and ${name} ` +
        (lessons ? `has the lessons 0 to ${lessons.length - 1}` : "has no lessons"),
      { fix: "write indices of lessons into nextLessons, and 0 where there are none" },
    );
  }

  /** Makes a failed environment again, or raises the error. Without an error its thread was lost, which is reported. */
  #restart(i: number, error: EspalierError | undefined): void {
    const { failed, failures, restarts, fresh } = this.#memory;
    const { policies, events, first = 0 } = this.#options;
    const count = (failures[i] as number) + 1;
    this.#broken[i] = 1;
    if (error && !policies?.[i]) throw error;
    if (error && count >= maxFailures) throw failsAgain(error);
    failed[i] = 0;
    failures[i] = count;
    restarts[i] = (restarts[i] as number) + 1;
    fresh[i] = 1;
    this.#mend(i);
    if (error) events?.restarts.push({ index: first + i, error });
  }

  /** Makes an environment again if it has failed. */
  #mend(i: number): void {
    if (!this.#broken[i]) return;
    try {
      this.#at(i).close?.();
    } catch {
      // It has failed already, and that is reported.
    }
    this.#call(i, "make", () => {
      this.#environments[i] = this.#options.make((this.#options.first ?? 0) + i);
    });
    this.#broken[i] = 0;
  }

  /** The environments' states; null for those that begin with a seed. */
  states(): StateTree[] {
    return this.#environments.map((environment, i) =>
      this.#memory.fresh[i]
        ? null
        : this.#call(i, "getState", () => copyState(stateOf(environment), environment.name)),
    );
  }

  restore(states: readonly StateTree[]): void {
    for (let i = 0; i < this.#environments.length; i++) {
      this.#mend(i);
      if (this.#memory.fresh[i]) continue;
      // If it does not return, it is made again before it is used again.
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
      this.#options.onCall?.(i);
      return work();
    } catch (cause) {
      throw failedEnvironment(this.#place(i, during), cause);
    }
  }

  #at(i: number): Environment {
    return this.#environments[i] as Environment;
  }

  #place(i: number, during: Place["during"]): Place {
    const { first = 0, episode } = this.#options;
    const { step, lengths } = this.#memory;
    const place = { name: this.#at(i).name, index: first + i, during };
    if (!episode) return { ...place, step: step[0] as number };
    return { ...place, step: during === "step" ? (lengths[i] as number) + 1 : 0, episode: episode(i) };
  }
}

/** The finite numbers of a step's `info`, by name, and its flags as 0 or 1; undefined if it has none. */
function numbersIn(info: unknown): Readonly<Record<string, number>> | undefined {
  if (typeof info !== "object" || info === null) return undefined;
  let found: Record<string, number> | undefined;
  for (const [name, value] of Object.entries(info)) {
    if (!Number.isFinite(value) && typeof value !== "boolean") continue;
    found ??= {};
    found[name] = Number(value);
  }
  return found;
}
