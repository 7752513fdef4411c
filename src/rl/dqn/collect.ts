import { hostRandom, type Tensor } from "../../engine/index.ts";
import type { KeyCounts } from "../../learner/index.ts";
import type { Field } from "../../losses/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import type { ReplayBuffer } from "../experience/replay-buffer.ts";
import { episodeMetrics, infoMetrics } from "../on-policy/report.ts";
import { choices as choicesOf, flatSize } from "../spaces/index.ts";
import type { VectorEnvironment } from "../vector/vector.ts";

/** The keys of a run, with counts of steps and updates: all random numbers follow from them. */
export type DqnKeys = KeyCounts<"actions" | "replay" | "losses", "steps" | "updates">;

/** A key with two words of a count folded in, so that keys never repeat. */
export const countedKey = (key: Uint32Array, count: number): Uint32Array =>
  hostRandom.hostFoldIn(hostRandom.hostFoldIn(key, count % 2 ** 32), Math.floor(count / 2 ** 32));

/** The fields of a transition in the replay buffer. */
export function transitionFields(env: VectorEnvironment): Readonly<Record<string, Field>> {
  const observation: Field = { shape: [flatSize(env.observationSpace)], dtype: "f32" };
  const number: Field = { shape: [], dtype: "f32" };
  return {
    observation,
    action: { shape: [1], dtype: "f32" },
    reward: number,
    nextObservation: observation,
    terminated: number,
    ...(env.actionMasks && { nextMask: { shape: [choicesOf(env.actionSpace)], dtype: "f32" } }),
  };
}

export interface TransitionCollectorOptions {
  readonly env: VectorEnvironment;
  readonly buffer: ReplayBuffer;
  readonly keys: DqnKeys;
  readonly seed: number;
  /** The index of the lesson of all episodes. Default: the environment's own choice. */
  readonly lesson: number | undefined;
}

/** Steps environments and adds transitions to the replay buffer. Steps that begin an episode are no transitions. */
export class TransitionCollector implements Stateful {
  readonly #parts: TransitionCollectorOptions;
  readonly #before: Float32Array;
  readonly #actions: Float32Array;
  readonly #transition: Readonly<Record<string, ArrayLike<number>>>;
  #seed: number;
  #begun = false;

  constructor(parts: TransitionCollectorOptions) {
    const { env } = parts;
    this.#parts = parts;
    this.#seed = parts.seed;
    this.#before = new Float32Array(env.observations.length);
    this.#actions = new Float32Array(env.rows);
    this.#transition = {
      observation: this.#before,
      action: this.#actions,
      reward: env.rewards,
      nextObservation: env.observations,
      terminated: env.terminated,
      ...(env.actionMasks && { nextMask: env.actionMasks }),
    };
  }

  #begin(): void {
    if (this.#begun) return;
    const { env, lesson } = this.#parts;
    if (lesson !== undefined) env.nextLessons.fill(lesson);
    env.reset(this.#seed);
    this.#begun = true;
  }

  /** Takes some steps of all rows. `greedy` gives the best actions for observations and masks, [rows]. */
  run(
    steps: number,
    epsilon: number,
    greedy: (observations: Float32Array, masks: Uint8Array | undefined) => Tensor,
  ): Readonly<Record<string, number>> {
    this.#begin();
    const { env, buffer, keys } = this.#parts;
    const { rows, observations, actionMasks: masks, resets } = env;
    const choices = choicesOf(env.actionSpace);
    const best = (): ArrayLike<number> => {
      const tensor = greedy(observations, masks);
      const found = tensor.readSync();
      tensor.dispose();
      return found;
    };
    for (let t = 0; t < steps; t++) {
      this.#before.set(observations);
      const key = countedKey(keys.keys.actions, keys.counts.steps);
      explore(this.#actions, { key, epsilon, choices, masks }, best);
      env.step(this.#actions);
      for (let row = 0; row < rows; row++) if (resets[row] === 0) buffer.addFrom(this.#transition, row);
      keys.counts.steps++;
    }
    return { ...episodeMetrics(env.ended()), ...infoMetrics(env.infos?.()) };
  }

  /** Starts new episodes from another seed. */
  restart(seed: number): void {
    this.#seed = seed;
    this.#begun = false;
    this.#parts.buffer.clear();
  }

  getState(): StateTree {
    this.#begin();
    return { vector: this.#parts.env.getState() };
  }

  setState(state: StateTree): void {
    this.#parts.env.setState((state as { readonly vector: StateTree }).vector);
    this.#begun = true;
  }
}

export interface ExploreOptions {
  readonly key: Uint32Array;
  readonly epsilon: number;
  readonly choices: number;
  /** [rows, choices], where not all are allowed. */
  readonly masks: Uint8Array | undefined;
}

/**
 * Writes the actions of all rows: with probability epsilon a uniformly drawn allowed choice, else the greedy one.
 * `greedy` is called only if some row needs it.
 */
export function explore(
  actions: Float32Array,
  { key, epsilon, choices, masks }: ExploreOptions,
  greedy: () => ArrayLike<number>,
): void {
  const rows = actions.length;
  const bits = hostRandom.hostBits(key, 2 * rows);
  let best: ArrayLike<number> | undefined;
  for (let row = 0; row < rows; row++) {
    if ((bits[2 * row] as number) < epsilon * 2 ** 32)
      actions[row] = drawChoice(bits[2 * row + 1] as number, choices, masks, row * choices);
    else {
      best ??= greedy();
      actions[row] = best[row] as number;
    }
  }
}

/** One of the allowed choices by 32 random bits. */
function drawChoice(bits: number, choices: number, masks: Uint8Array | undefined, from: number): number {
  if (!masks) return Math.floor((bits * choices) / 2 ** 32);
  let allowed = 0;
  for (let i = 0; i < choices; i++) if (masks[from + i] !== 0) allowed++;
  let skip = Math.floor((bits * allowed) / 2 ** 32);
  for (let i = 0; i < choices; i++) if (masks[from + i] !== 0 && skip-- === 0) return i;
  return 0;
}
