import { EspalierError } from "../../core/index.ts";
import { actionReader } from "./actions.ts";
import type { Description } from "./description.ts";
import type { EnvironmentSet } from "./environment-set.ts";
import { failedEnvironment, failsAgain, invalidEnvironment, mostFailures, outsideText } from "./failure.ts";
import { numbersIn } from "./infos.ts";
import { Intake } from "./intake.ts";
import type { Memory } from "./memory.ts";

export interface RowsOptions {
  readonly description: Description;
  readonly memory: Memory;
  readonly environments: EnvironmentSet;
  /** 1 where a failure makes the environment anew. */
  readonly policies: Uint8Array;
  /** Told of each environment that is made anew: which of these, and why. */
  readonly restarted: (i: number, error: EspalierError) => void;
  /** Told what numbers a step of one of these had in its info. */
  readonly informed: (i: number, info: Readonly<Record<string, number>>) => void;
  /** Told of the first observation beyond its bounds, in words. */
  readonly outside: (text: string) => void;
}

/**
 * The rows of the environments of one thread: next-step autoreset, returns and lengths, and what happens when an
 * environment fails. Both kinds of vectors are made of these, which is why they agree bit for bit.
 */
export class EnvironmentRows {
  readonly #options: RowsOptions;
  readonly #environments: EnvironmentSet;
  readonly #memory: Memory;
  readonly #intake: Intake;
  readonly #read: ReturnType<typeof actionReader>;
  readonly #agents: number;
  /** What is under way. */
  #during: "reset" | "step" = "reset";
  #repeating = false;

  constructor(options: RowsOptions) {
    const { description, memory } = options;
    this.#options = options;
    this.#environments = options.environments;
    this.#memory = memory;
    this.#intake = new Intake(description, memory, (i, what) =>
      options.outside(outsideText(this.#environments.place(i, this.#during), what)),
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
    for (let i = 0; i < this.#environments.count; i++) {
      this.#environments.mend(i);
      this.#begin(i);
    }
  }

  /** One step of all. While `repeating` what was done before, those that are doomed are left out. */
  step(actions: Float32Array, repeating = false): void {
    const { terminated, truncated, doomed } = this.#memory;
    this.#repeating = repeating;
    for (let i = 0; i < this.#environments.count; i++) {
      if (repeating && doomed[i]) continue;
      if (terminated[i * this.#agents] || truncated[i * this.#agents]) this.#begin(i);
      else this.#advance(i, actions);
    }
  }

  #advance(i: number, actions: Float32Array): void {
    const { rewards, resets, truncated, doomed } = this.#memory;
    const hung = doomed[i] === 1;
    const error = hung ? undefined : this.#tryStep(i, actions);
    if (!hung && error === undefined) return;
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
    let given: unknown;
    try {
      given = this.#environments.step(i, action);
    } catch (cause) {
      return failedEnvironment(this.#environments.place(i, "step"), cause);
    }
    this.#during = "step";
    const fault = this.#intake.step(i, given);
    if (fault) return invalidEnvironment(this.#environments.place(i, "step"), fault);
    const { info } = given as { readonly info?: unknown };
    if (info !== undefined && !this.#repeating) {
      const numbers = numbersIn(info);
      if (numbers) this.#options.informed(i, numbers);
    }
    this.#memory.failures[i] = 0;
    return undefined;
  }

  #begin(i: number): void {
    const lesson = this.#lesson(i);
    const hung = this.#memory.doomed[i] === 1;
    const error = hung ? undefined : this.#tryBegin(i, lesson, 0);
    if (!hung && error === undefined) return;
    this.#restart(i, error);
    const again = this.#tryBegin(i, lesson, 1);
    if (again === undefined) return;
    this.#environments.breaks(i);
    throw failsAgain(again);
  }

  #tryBegin(i: number, lesson: number | undefined, attempt: 0 | 1): EspalierError | undefined {
    const { fresh, seeds, lessons } = this.#memory;
    const seed = fresh[i] ? { seed: seeds[2 * i + attempt] as number } : {};
    let given: unknown;
    try {
      given = this.#environments.reset(i, lesson === undefined ? seed : { ...seed, lesson });
    } catch (cause) {
      return failedEnvironment(this.#environments.place(i, "reset"), cause);
    }
    this.#during = "reset";
    const fault = this.#intake.reset(i, given);
    if (fault) return invalidEnvironment(this.#environments.place(i, "reset"), fault);
    fresh[i] = 0;
    lessons[i] = lesson ?? 0;
    return undefined;
  }

  /** The lesson the next episode has; undefined without lessons. */
  #lesson(i: number): number | undefined {
    const { lessons, name } = this.#options.description;
    const lesson = this.#memory.nextLessons[i] as number;
    if (lesson >= 0 && lesson < (lessons?.length ?? 1)) return lessons && lesson;
    throw new EspalierError(
      "LESSON_INVALID",
      `nextLessons has ${lesson} for environment ${this.#environments.place(i, "reset").index}, and ${name} ` +
        (lessons ? `has the lessons 0 to ${lessons.length - 1}` : "has no lessons"),
      { fix: "write indices of lessons into nextLessons, and 0 where there are none" },
    );
  }

  /** Makes a failed environment anew, or raises the error. Without an error it hung, which is known already. */
  #restart(i: number, error: EspalierError | undefined): void {
    const { doomed, failures, restarts, fresh } = this.#memory;
    const failed = (failures[i] as number) + 1;
    this.#environments.breaks(i);
    if (error && !this.#options.policies[i]) throw error;
    if (error && failed >= mostFailures) throw failsAgain(error);
    doomed[i] = 0;
    failures[i] = failed;
    restarts[i] = (restarts[i] as number) + 1;
    fresh[i] = 1;
    this.#environments.mend(i);
    if (error) this.#options.restarted(i, error);
  }
}
