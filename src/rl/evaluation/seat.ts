import { EspalierError } from "../../core/index.ts";
import { checkResult, type Environment, type Reset, type Step } from "../environments/environment.ts";
import { type Replay, type ReplayRecorder, replayRecorder } from "../replays/replay.ts";
import { readAction } from "../spaces/flat.ts";
import type { SpaceValue } from "../spaces/space.ts";
import { textOf } from "../vector/failure.ts";
import type { EpisodeResult, RecordEpisode } from "./episode.ts";
import { type EpisodeKeys, episodeKeys } from "./episode-keys.ts";
import { type Seating, takeIn } from "./seating.ts";

type Observed = SpaceValue | readonly SpaceValue[];

export interface SeatOptions {
  readonly environment: Environment;
  /** Which of the environments that play. */
  readonly index: number;
  /** The numbers of the episodes that it plays, in order. */
  readonly episodes: readonly number[];
  readonly seed: number;
  readonly lesson: number;
  readonly seating: Seating;
  readonly maxLength: number;
  readonly record: RecordEpisode | undefined;
  readonly ended: (episode: number, result: EpisodeResult) => void;
}

/** An environment with the episodes that it is to play, and its rows among those that the policy is shown. */
export class Seat {
  readonly #options: SeatOptions;
  #next = 0;
  #episode = 0;
  #keys: EpisodeKeys | undefined;
  /** Where the episode is recorded: what plays it, and who gets it. */
  #recorder: ReplayRecorder | undefined;
  #recorded: ((replay: Replay) => void) | undefined;
  #length = 0;
  #returns: Float64Array;

  constructor(options: SeatOptions) {
    this.#options = options;
    this.#returns = new Float64Array(options.seating.agents);
    this.#begin();
  }

  /** Whether it has an episode under way. */
  get plays(): boolean {
    return this.#keys !== undefined;
  }

  #begin(): void {
    const { environment, episodes, seed, lesson, record } = this.#options;
    const episode = episodes[this.#next++];
    this.#keys = episode === undefined ? undefined : episodeKeys(seed, episode);
    if (episode === undefined || this.#keys === undefined) return;
    this.#episode = episode;
    this.#length = 0;
    this.#returns.fill(0);
    const start = { seed: this.#keys.seed, lesson };
    this.#recorded = record?.({ ...start, episode, environment: environment.name });
    this.#recorder = this.#recorded && this.#try("reset", () => replayRecorder(environment, start));
    const reset = (): Reset<Observed> => checkResult(environment, "reset", environment.reset(start));
    this.#show(this.#recorder?.now ?? this.#try("reset", reset), 1);
  }

  /** Acts as its rows of the actions say. An episode that ends is followed by the next of its own. */
  step(actions: Float32Array): void {
    const { seating, index, lesson, maxLength } = this.#options;
    const { agents } = seating;
    const own = actions.subarray(index * agents * seating.actions, (index + 1) * agents * seating.actions);
    const step = this.#try("step", () => this.#act(own));
    this.#length++;
    this.#earn(step);
    this.#show(step, 0, step.terminated || step.truncated);
    if (!step.terminated && !step.truncated) {
      if (this.#length >= maxLength) throw this.#endless();
      return;
    }
    const total = this.#returns.reduce((sum, each) => sum + each, 0) / agents;
    const { terminated } = step;
    const seed = this.#keys?.seed ?? 0;
    const result: EpisodeResult = { return: total, length: this.#length, terminated, lesson, seed };
    if (this.#recorder) this.#recorded?.(this.#recorder.replay());
    this.#options.ended(this.#episode, result);
    this.#begin();
  }

  #act(own: Float32Array): Step<Observed, number | readonly number[]> {
    if (this.#recorder) return this.#recorder.act(own);
    const { environment, seating } = this.#options;
    const { agents, actions } = seating;
    const each = Array.from(
      { length: agents },
      (_, i) => readAction(environment.actionSpace, own, i * actions) as SpaceValue,
    );
    const action = agents === 1 ? (each[0] as SpaceValue) : each;
    return checkResult(environment, "step", environment.step(action));
  }

  #earn({ reward, terminated, truncated }: Step<Observed, number | readonly number[]>): void {
    const { agents } = this.#options.seating;
    for (let agent = 0; agent < agents; agent++) {
      const earned =
        typeof reward === "number" && agents === 1 ? reward : (reward as readonly number[])[agent];
      if (typeof earned !== "number" || !Number.isFinite(earned))
        throw this.#invalid(`a reward of ${String(earned)}`);
      this.#returns[agent] = (this.#returns[agent] ?? 0) + earned;
    }
    for (const [name, value] of Object.entries({ terminated, truncated }))
      if (typeof value !== "boolean") throw this.#invalid(`${name}: ${String(value)}, which is no boolean`);
  }

  /** Writes what was observed into its rows. */
  #show(seen: Reset<Observed>, reset: 0 | 1, over = false): void {
    const { environment, seating, index } = this.#options;
    const { agents, resets, keys } = seating;
    const fault = takeIn(seating, environment.observationSpace, index, seen, over);
    if (fault !== undefined) throw this.#invalid(fault);
    for (let agent = 0; agent < agents; agent++) {
      const row = index * agents + agent;
      resets[row] = reset;
      keys.set(this.#keys?.action(this.#length, agent) ?? [0, 0], row * 2);
    }
  }

  #try<T>(what: "reset" | "step", act: () => T): T {
    try {
      return act();
    } catch (cause) {
      // Some know by themselves that they break the contract.
      const known =
        cause instanceof EspalierError && cause.code === "ENVIRONMENT_INVALID" ? cause : undefined;
      const why = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
      throw new EspalierError(
        known?.code ?? "ENVIRONMENT_FAILED",
        `${this.#place()}: ${what} failed: ${known ? textOf(known) : why}`,
        {
          fix: known?.fix ?? "mend the environment; checkEnvironment of espalier/testing looks for more",
          cause,
        },
      );
    }
  }

  #place(): string {
    const { environment, index } = this.#options;
    return `${environment.name}, environment ${index}, step ${this.#length} of evaluation episode ${this.#episode}`;
  }

  #invalid(what: string): EspalierError {
    return new EspalierError("ENVIRONMENT_INVALID", `${this.#place()}: it gave ${what}`, {
      fix: "mend the environment; checkEnvironment of espalier/testing looks for more",
    });
  }

  #endless(): EspalierError {
    return new EspalierError("ENVIRONMENT_HANGS", `${this.#place()}: the episode does not end`, {
      fix: "give the environment a time limit, or raise maxLength",
    });
  }
}
