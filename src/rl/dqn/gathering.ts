import type { Tensor } from "../../engine/index.ts";
import type { Field } from "../../losses/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import type { ReplayBuffer } from "../experience/replay-buffer.ts";
import { episodeValues, infoValues } from "../on-policy/episodes.ts";
import { choices as choicesOf, flatSize } from "../spaces/index.ts";
import type { VectorEnvironment } from "../vector/vector.ts";
import type { DqnCounts } from "./counts.ts";
import { explore } from "./explore.ts";

/** What of a transition is kept. */
export function transitionFields(environment: VectorEnvironment): Readonly<Record<string, Field>> {
  const observation: Field = { shape: [flatSize(environment.observationSpace)], dtype: "f32" };
  const number: Field = { shape: [], dtype: "f32" };
  const masks: Field = { shape: [choicesOf(environment.actionSpace)], dtype: "f32" };
  return {
    ...{ observation, action: { shape: [1], dtype: "f32" }, reward: number },
    ...{ nextObservation: observation, terminated: number },
    ...(environment.actionMasks && { nextMask: masks }),
  };
}

/** Steps environments and keeps what comes of it. Steps that begin an episode are no transitions. */
export class Gathering implements Stateful {
  readonly #environment: VectorEnvironment;
  readonly #buffer: ReplayBuffer;
  readonly #counts: DqnCounts;
  readonly #before: Float32Array;
  readonly #actions: Float32Array;
  readonly #choices: number;
  readonly #rows: Readonly<Record<string, ArrayLike<number>>>;
  /** The index of the lesson of all episodes, where one is chosen. */
  readonly #lesson: number | undefined;
  #seed: number;
  #begun = false;

  constructor(
    environment: VectorEnvironment,
    buffer: ReplayBuffer,
    counts: DqnCounts,
    { seed, lesson }: { readonly seed: number; readonly lesson: number | undefined },
  ) {
    this.#environment = environment;
    this.#lesson = lesson;
    this.#buffer = buffer;
    this.#counts = counts;
    this.#seed = seed;
    this.#before = new Float32Array(environment.observations.length);
    this.#actions = new Float32Array(environment.rows);
    this.#choices = choicesOf(environment.actionSpace);
    this.#rows = {
      ...{ observation: this.#before, action: this.#actions, reward: environment.rewards },
      ...{ nextObservation: environment.observations, terminated: environment.terminated },
      ...(environment.actionMasks && { nextMask: environment.actionMasks }),
    };
  }

  #begin(): void {
    if (this.#begun) return;
    if (this.#lesson !== undefined) this.#environment.nextLessons.fill(this.#lesson);
    this.#environment.reset(this.#seed);
    this.#begun = true;
  }

  /** So many steps of all rows. `greedy` gives the best actions for observations and masks, [rows]. */
  run(
    steps: number,
    epsilon: number,
    greedy: (observations: Float32Array, masks: Uint8Array | undefined) => Tensor,
  ): Readonly<Record<string, number>> {
    this.#begin();
    const { rows, observations, actionMasks, resets } = this.#environment;
    const best = (): ArrayLike<number> => {
      const tensor = greedy(observations, actionMasks);
      const found = tensor.readSync();
      tensor.dispose();
      return found;
    };
    for (let t = 0; t < steps; t++) {
      this.#before.set(observations);
      const choice = { key: this.#counts.stepKey(), epsilon, choices: this.#choices, masks: actionMasks };
      explore(this.#actions, choice, best);
      this.#environment.step(this.#actions);
      for (let row = 0; row < rows; row++) if (resets[row] === 0) this.#buffer.addFrom(this.#rows, row);
      this.#counts.steps++;
    }
    return { ...episodeValues(this.#environment.ended()), ...infoValues(this.#environment.infos?.()) };
  }

  /** Begins episodes anew, when it is next needed. */
  restart(seed: number): void {
    this.#seed = seed;
    this.#begun = false;
    this.#buffer.clear();
  }

  getState(): StateTree {
    this.#begin();
    return { vector: this.#environment.getState() };
  }

  setState(state: StateTree): void {
    this.#environment.setState((state as { readonly vector: StateTree }).vector);
    this.#begun = true;
  }
}
