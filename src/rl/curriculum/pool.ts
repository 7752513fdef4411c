import type { StateTree } from "../../state/index.ts";

/**
 * Lessons that are drawn, where there are too many to draw from all of them. The others wait in a row: whoever leaves
 * goes to its end.
 */
export class Pool {
  /** In the order in which they came in. */
  #active: number[];
  #waiting: number[];
  /** Episodes of each lesson since it came in. */
  readonly #completions: Float64Array;
  /** How often a lesson left. */
  evicted = 0;

  constructor(lessons: number, size: number) {
    const all = Array.from({ length: lessons }, (_, i) => i);
    this.#active = all.slice(0, size);
    this.#waiting = all.slice(size);
    this.#completions = new Float64Array(lessons);
  }

  get active(): readonly number[] {
    return this.#active;
  }

  completed(lesson: number, episodes: number): void {
    this.#completions[lesson] = (this.#completions[lesson] as number) + episodes;
  }

  /**
   * Lets those go that are in the bottom share by progress and have had enough episodes, as long as others wait. Of
   * equal progress, those with more episodes go first.
   */
  evict(progress: (lesson: number) => number, enough: number, bottom: number): void {
    if (this.#waiting.length === 0) return;
    const had = (lesson: number): number => this.#completions[lesson] as number;
    const leaving = [...this.#active]
      .sort((a, b) => progress(a) - progress(b) || had(b) - had(a) || a - b)
      .slice(0, Math.floor(bottom * this.#active.length))
      .filter((lesson) => had(lesson) >= enough)
      .slice(0, this.#waiting.length);
    const coming = this.#waiting.splice(0, leaving.length);
    this.#active = [...this.#active.filter((lesson) => !leaving.includes(lesson)), ...coming];
    this.#waiting.push(...leaving);
    for (const lesson of coming) this.#completions[lesson] = 0;
    this.evicted += leaving.length;
  }

  getState(): StateTree {
    return {
      active: Int32Array.from(this.#active),
      waiting: Int32Array.from(this.#waiting),
      completions: this.#completions.slice(),
      evicted: this.evicted,
    };
  }

  setState(state: StateTree): void {
    const saved = state as {
      readonly active: Int32Array;
      readonly waiting: Int32Array;
      readonly completions: Float64Array;
      readonly evicted: number;
    };
    this.#active = [...saved.active];
    this.#waiting = [...saved.waiting];
    this.#completions.set(saved.completions);
    this.evicted = saved.evicted;
  }
}
