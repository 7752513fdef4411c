import { EspalierError, messageOf, node } from "../../core/index.ts";
import { RandomStreams } from "../../random/index.ts";
import type { Environment, Reset, ResetOptions, SpaceValue, Step } from "../../rl/index.ts";
import { choices, sampleSpace } from "../../rl/index.ts";
import { copied } from "./check-environment.ts";

/** Options of {@link checkEnvironment}. */
export interface EnvironmentCheck {
  /** Seeds of the episodes that are played with random actions. Default: [0, 1, 2]. */
  readonly seeds?: readonly number[];
  /** The most steps of an episode. Default: 10,000. */
  readonly steps?: number;
  /** Episodes need not end by themselves, because their users set a time limit. Default: false. */
  readonly endless?: boolean;
}

export type Values = SpaceValue | readonly SpaceValue[];
export type Seen = Reset<Values>;
export type Stepped = Step<Values, number | readonly number[]>;

/** A moment of an episode: a copy of what a reset or a step gave, without `info`, which is not compared. */
export interface Moment {
  /** Of the seed's episode; 0 is its reset. */
  readonly at: number;
  readonly seen: Seen;
  /** Missing for a reset. */
  readonly stepped?: Stepped;
}

/** Makes environments and plays in them. */
export class EnvironmentBench {
  readonly seeds: readonly number[];
  readonly steps: number;
  readonly endless: boolean;
  readonly #make: () => Environment;

  constructor(
    make: () => Environment,
    { seeds = [0, 1, 2], steps = 10_000, endless = false }: EnvironmentCheck,
  ) {
    this.seeds = seeds;
    this.steps = steps;
    this.endless = endless;
    this.#make = make;
  }

  make(): Environment {
    const environment = this.#make();
    if (typeof environment?.reset === "function" && typeof environment.step === "function")
      return environment;
    throw fault("it was not made: give a function that returns a new environment, with reset and step");
  }

  /** Begins an episode; what it throws is a fault. */
  reset(environment: Environment, options?: ResetOptions): Seen {
    const what = options === undefined ? "" : JSON.stringify(options);
    return attempt(`reset(${what})`, () => environment.reset(options));
  }

  /** An action that is allowed, the same for the same seed and step. */
  action(environment: Environment, seed: number, at: number, { actionMask }: Seen): Values {
    const { actionSpace, agents = 1 } = environment;
    const stream = new RandomStreams(seed).get(`action ${at}`);
    const size = actionMask ? choices(actionSpace) : 0;
    const actions = Array.from({ length: agents }, (_, i) =>
      sampleSpace(actionSpace, stream, actionMask?.slice(i * size, (i + 1) * size)),
    );
    return agents === 1 ? (actions[0] as SpaceValue) : actions;
  }

  step(environment: Environment, seed: number, at: number, before: Seen): Stepped {
    const action = this.action(environment, seed, at, before);
    return attempt(`step ${at} of the episode with seed ${seed}`, () => environment.step(action));
  }

  /** Plays on from a moment until the episode is over, or for a number of steps. Returns the moments, without the first. */
  play(environment: Environment, seed: number, from: Moment, steps = this.steps): Moment[] {
    const moments: Moment[] = [];
    let last = from;
    while (moments.length < steps && !isOver(last)) {
      const at = last.at + 1;
      const stepped = this.step(environment, seed, at, last.seen);
      last = stepMoment(at, stepped);
      moments.push(last);
    }
    return moments;
  }

  /** An episode from its reset on: the same for the same seed, if all is well. */
  episode(environment: Environment, seed: number, steps = this.steps): Moment[] {
    const first = resetMoment(this.reset(environment, { seed }));
    return [first, ...this.play(environment, seed, first, steps)];
  }
}

export const resetMoment = (seen: Seen): Moment => {
  const { observation, actionMask } = seen ?? {};
  return { at: 0, seen: copied({ observation, ...(actionMask && { actionMask }) } as Seen) };
};

export const stepMoment = (at: number, given: Stepped): Moment => {
  const { observation, actionMask, reward, terminated, truncated } = given ?? {};
  const stepped = copied({
    observation,
    ...(actionMask && { actionMask }),
    reward,
    terminated,
    truncated,
  } as Stepped);
  return { at, seen: stepped, stepped };
};

/** True where the moment ended its episode. */
export const isOver = ({ stepped }: Moment): boolean =>
  stepped !== undefined && (stepped.terminated || stepped.truncated);

/** An error of this suite. */
export const fault = (what: string, cause?: unknown): EspalierError =>
  new EspalierError("CONFORMANCE", what, cause === undefined ? {} : { cause });

function attempt<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw fault(`${what} failed: ${messageOf(cause)}`, cause);
  }
}

/** Refuses moments that differ, naming the first that does. */
export function sameMoments(found: readonly Moment[], expected: readonly Moment[], what: string): void {
  for (const [i, moment] of expected.entries()) {
    const { at, seen } = moment;
    const place = at === 0 ? "the first observation" : `step ${at}`;
    const other = found[i]?.seen;
    if (node.util.isDeepStrictEqual(other, seen)) continue;
    throw fault(`${what}: ${place} is ${text(other)}, where it was ${text(seen)}`);
  }
  if (found.length > expected.length)
    throw fault(`${what}: it goes on after step ${expected.at(-1)?.at}, where it was over`);
}

export const text = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    ArrayBuffer.isView(part)
      ? Array.from(part as Float32Array, Number)
      : typeof part === "number" && !Number.isFinite(part)
        ? String(part)
        : part,
  ) ?? "missing";
