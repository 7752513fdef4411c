import type { StateTree } from "../../../state/index.ts";
import type { Memory } from "../memory.ts";
import type { Repeat } from "./protocol.ts";

/** Steps after which states are taken again: few enough to be repeated, so many that taking states costs nothing. */
const capacity = 256;

/**
 * What brings the environments of a lost thread back: their states as they were once, and what they have done since.
 */
export class StepLog {
  readonly #actions: Float32Array;
  readonly #nextLessons: Int32Array;
  readonly #image: Uint8Array;
  #states: readonly StateTree[] = [];
  #steps = 0;
  #stale = true;

  constructor(memory: Memory, bytes: number) {
    this.#actions = new Float32Array(capacity * memory.actions.length);
    this.#nextLessons = new Int32Array(capacity * memory.nextLessons.length);
    this.#image = new Uint8Array(bytes);
  }

  /** Whether states have to be taken before another step. */
  get due(): boolean {
    return this.#stale || this.#steps === capacity;
  }

  /** What was done cannot be repeated as it was. */
  outdate(): void {
    this.#stale = true;
  }

  /** Begins with these states, and memory as it is now. */
  begin(states: readonly StateTree[], buffer: SharedArrayBuffer): void {
    this.#states = states;
    this.#image.set(new Uint8Array(buffer));
    this.#steps = 0;
    this.#stale = false;
  }

  /** Another step, with what memory tells it to do. */
  add({ actions, nextLessons }: Memory): void {
    this.#actions.set(actions, this.#steps * actions.length);
    this.#nextLessons.set(nextLessons, this.#steps * nextLessons.length);
    this.#steps++;
  }

  /** Puts memory back as it was when the states were taken. */
  putBack(buffer: SharedArrayBuffer): readonly StateTree[] {
    new Uint8Array(buffer).set(this.#image);
    return this.#states;
  }

  /** All steps but the last one, which was not finished. */
  get finished(): Repeat {
    return { steps: this.#steps - 1, actions: this.#actions, nextLessons: this.#nextLessons };
  }
}
