import { hostRandom } from "../../engine/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import type { Curriculum } from "../curriculum/curriculum.ts";
import type { VectorEnvironment } from "../vector/vector.ts";

/** Folded into a rollout's key, whose other uses are counted by steps from 0 on. */
const purpose = 2 ** 31 - 1;

/**
 * The lessons of coming episodes, for ordinary environments: one for all, or drawn by a curriculum's shares, a new one
 * for each environment whose episode has just ended. What is drawn follows from the rollout's key and the step.
 */
export class LessonDraw implements Stateful {
  readonly #environment: VectorEnvironment;
  readonly #curriculum: Curriculum | undefined;
  /** The index of the lesson of all episodes, where no curriculum chooses. */
  readonly #lesson: number | undefined;
  #key: Uint32Array = new Uint32Array(2);
  #step = 0;

  constructor(
    environment: VectorEnvironment,
    curriculum: Curriculum | undefined,
    lesson: number | undefined,
  ) {
    this.#environment = environment;
    this.#curriculum = curriculum;
    this.#lesson = lesson;
  }

  /** For every environment. */
  draw(key: Uint32Array): void {
    if (!this.#curriculum) {
      if (this.#lesson !== undefined) this.#environment.nextLessons.fill(this.#lesson);
      return;
    }
    const numbers = hostRandom.hostUniform(hostRandom.hostFoldIn(key, purpose), this.#environment.count);
    for (let i = 0; i < this.#environment.count; i++) this.#choose(i, numbers[i] as number);
  }

  /** A rollout begins. */
  start(key: Uint32Array): void {
    this.#key = hostRandom.hostFoldIn(key, purpose);
    this.#step = 0;
  }

  /** After a step. */
  next(): void {
    this.#step++;
    if (!this.#curriculum) return;
    const { terminated, truncated, count, agents } = this.#environment;
    let numbers: Float32Array | undefined;
    for (let i = 0; i < count; i++) {
      if (terminated[i * agents] === 0 && truncated[i * agents] === 0) continue;
      numbers ??= hostRandom.hostUniform(hostRandom.hostFoldIn(this.#key, this.#step), count);
      this.#choose(i, numbers[i] as number);
    }
  }

  #choose(environment: number, drawn: number): void {
    const shares = (this.#curriculum as Curriculum).shares();
    let [lesson, upTo] = [0, 0];
    // The last share that is not 0 takes what rounding leaves.
    for (let i = 0; i < shares.length; i++) {
      const share = shares[i] as number;
      if (share === 0) continue;
      lesson = i;
      upTo += share;
      if (drawn < upTo) break;
    }
    this.#environment.nextLessons[environment] = lesson;
  }

  getState(): StateTree {
    return { next: this.#environment.nextLessons.slice() };
  }

  setState(state: StateTree): void {
    this.#environment.nextLessons.set((state as { readonly next: Int32Array }).next);
  }
}
