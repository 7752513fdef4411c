import type { StateTree } from "../../state/index.ts";
import type { Part } from "./stepper.ts";
import type { EpisodeEnd, VectorEnvironment } from "./vector.ts";

const none: readonly EpisodeEnd[] = Object.freeze([]);

/** The episodes of a vector that are over, until they are asked for. */
export class EndedEpisodes {
  #ended: EpisodeEnd[] = [];

  /** Takes those that the last step ended. */
  collect({ agents, terminated, truncated }: VectorEnvironment, parts: readonly Part[]): void {
    for (const { first, count, memory } of parts)
      for (let i = 0; i < count; i++) {
        const row = (first + i) * agents;
        if (!terminated[row] && !truncated[row]) continue;
        for (let agent = 0; agent < agents; agent++)
          this.#ended.push({
            environment: first + i,
            agent,
            return: memory.returns[i * agents + agent] as number,
            length: memory.lengths[i] as number,
            lesson: memory.lessons[i] as number,
            terminated: terminated[row] === 1,
          });
      }
  }

  /** All there are, which are forgotten then. */
  take(): readonly EpisodeEnd[] {
    if (this.#ended.length === 0) return none;
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  copy(): StateTree {
    return this.#ended.map((end) => ({ ...end }));
  }

  replace(ended: readonly EpisodeEnd[]): void {
    this.#ended = ended.map((end) => ({ ...end }));
  }
}
