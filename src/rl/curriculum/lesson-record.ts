import type { StateTree } from "../../state/index.ts";
import { moved } from "./average.ts";
import type { LessonResult } from "./curriculum.ts";
import type { LessonPlan } from "./lesson-options.ts";
import { Returns } from "./returns.ts";

/** What is known of lessons from one kind of episodes. */
export class LessonRecord {
  readonly scores: Float64Array;
  readonly episodes: Float64Array;
  readonly returns: readonly Returns[];
  readonly #rate: number;

  constructor({ lessons, prior, window, plateau, rate }: LessonPlan) {
    this.scores = new Float64Array(lessons.length).fill(prior);
    this.episodes = new Float64Array(lessons.length);
    this.returns = lessons.map(() => new Returns(window, plateau.results));
    this.#rate = rate;
  }

  add({ lesson, episodes, positive, return: mean }: LessonResult): void {
    this.scores[lesson] = moved(this.scores[lesson] as number, positive, this.#rate, episodes);
    this.episodes[lesson] = (this.episodes[lesson] as number) + episodes;
    this.returns[lesson]?.add(episodes, mean);
  }

  getState(): StateTree {
    const returns = this.returns.map((each) => each.getState());
    return { scores: this.scores.slice(), episodes: this.episodes.slice(), returns };
  }

  setState(state: StateTree): void {
    const saved = state as { scores: Float64Array; episodes: Float64Array; returns: readonly StateTree[] };
    this.scores.set(saved.scores);
    this.episodes.set(saved.episodes);
    this.returns.forEach((each, i) => each.setState(saved.returns[i] as StateTree));
  }
}
