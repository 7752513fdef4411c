import type { Environment } from "../environments/environment.ts";
import { readAction, writeFlat } from "../spaces/flat.ts";
import { actionSize, flatSize, type SpaceValue } from "../spaces/space.ts";
import { environmentSeed } from "./host-vector.ts";
import type { EpisodeEnd, VectorEnvironment } from "./vector.ts";

/** What a vector shows after a reset or a step. */
export interface VectorView {
  readonly observations: readonly number[];
  readonly rewards: readonly number[];
  readonly terminated: readonly number[];
  readonly truncated: readonly number[];
  readonly resets: readonly number[];
  readonly actionMasks: readonly number[] | undefined;
  readonly ended: readonly EpisodeEnd[];
}

export const show = (vector: VectorEnvironment): VectorView => ({
  observations: [...vector.observations],
  rewards: [...vector.rewards],
  terminated: [...vector.terminated],
  truncated: [...vector.truncated],
  resets: [...vector.resets],
  actionMasks: vector.actionMasks && [...vector.actionMasks],
  ended: vector.ended(),
});

const list = <T>(agents: number, value: T | readonly T[]): readonly T[] =>
  agents === 1 ? [value as T] : (value as readonly T[]);

interface OpenEpisode {
  over: boolean;
  returns: number[];
  length: number;
  lesson: number;
}

/** The contract of vectors as the plainest loop over single environments, which they must agree with. */
export class NaiveLoop {
  readonly #environments: readonly Environment[];
  readonly #episodes: OpenEpisode[];

  constructor(make: (index: number) => Environment, count: number) {
    this.#environments = Array.from({ length: count }, (_, i) => make(i));
    this.#episodes = this.#environments.map(() => ({ over: true, returns: [], length: 0, lesson: 0 }));
  }

  reset(seed: number, lessons: readonly number[]): VectorView {
    return joined(
      this.#environments.map((_, i) => this.#begin(i, lessons[i] ?? 0, environmentSeed(seed, i, 0))),
    );
  }

  step(actions: Float32Array, lessons: readonly number[]): VectorView {
    return joined(
      this.#environments.map((_, i) =>
        this.#episodes[i]?.over ? this.#begin(i, lessons[i] ?? 0) : this.#advance(i, actions),
      ),
    );
  }

  #begin(i: number, lesson: number, seed?: number): VectorView {
    const environment = this.#environments[i] as Environment;
    const agents = environment.agents ?? 1;
    const { observation, actionMask } = environment.reset({
      ...(seed !== undefined && { seed }),
      ...(environment.lessons && { lesson }),
    });
    this.#episodes[i] = { over: false, returns: Array(agents).fill(0), length: 0, lesson };
    return {
      observations: flat(environment, observation),
      rewards: Array(agents).fill(0),
      terminated: Array(agents).fill(0),
      truncated: Array(agents).fill(0),
      resets: Array(agents).fill(1),
      actionMasks: actionMask && [...actionMask],
      ended: [],
    };
  }

  #advance(i: number, actions: Float32Array): VectorView {
    const environment = this.#environments[i] as Environment;
    const episode = this.#episodes[i] as OpenEpisode;
    const agents = environment.agents ?? 1;
    const size = actionSize(environment.actionSpace);
    const taken = Array.from({ length: agents }, (_, agent) =>
      readAction(environment.actionSpace, actions, (i * agents + agent) * size),
    );
    const step = environment.step(agents === 1 ? (taken[0] as SpaceValue) : taken);
    const rewards = list<number>(agents, step.reward);
    episode.returns = episode.returns.map((sum, agent) => sum + (rewards[agent] as number));
    episode.length++;
    episode.over = step.terminated || step.truncated;
    const { returns, length, lesson, over } = episode;
    return {
      observations: flat(environment, step.observation),
      rewards: [...Float32Array.from(rewards)],
      terminated: Array(agents).fill(Number(step.terminated)),
      truncated: Array(agents).fill(Number(step.truncated)),
      resets: Array(agents).fill(0),
      actionMasks: step.actionMask && [...step.actionMask],
      ended: (over ? returns : []).map((total, agent) => ({
        environment: i,
        agent,
        return: total,
        length,
        lesson,
        terminated: step.terminated,
      })),
    };
  }
}

function flat(environment: Environment, observation: SpaceValue | readonly SpaceValue[]): number[] {
  return list<SpaceValue>(environment.agents ?? 1, observation as SpaceValue).flatMap((one) => {
    const row = new Float32Array(flatSize(environment.observationSpace));
    writeFlat(environment.observationSpace, one, row, 0);
    return [...row];
  });
}

function joined(parts: readonly VectorView[]): VectorView {
  const all = <T>(take: (part: VectorView) => readonly T[]): readonly T[] => parts.flatMap(take);
  return {
    observations: all((part) => part.observations),
    rewards: all((part) => part.rewards),
    terminated: all((part) => part.terminated),
    truncated: all((part) => part.truncated),
    resets: all((part) => part.resets),
    actionMasks: parts[0]?.actionMasks && all((part) => part.actionMasks ?? []),
    ended: all((part) => part.ended),
  };
}

/** Actions that differ from row to row and from step to step. */
export function actionsFor({ rows, actionSpace }: VectorEnvironment, t: number): Float32Array {
  const size = actionSize(actionSpace);
  return Float32Array.from({ length: rows * size }, (_, k) => (t * 5 + k * 3 + (t % 7)) % 2);
}
