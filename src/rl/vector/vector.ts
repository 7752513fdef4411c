import type { StateTree } from "../../state/index.ts";
import type { Space } from "../spaces/space.ts";

/** An episode of one row that is over. */
export interface EpisodeEnd {
  /** Which environment, and which of its agents. */
  readonly environment: number;
  readonly agent: number;
  readonly return: number;
  readonly length: number;
  readonly lesson: number;
  readonly terminated: boolean;
}

/**
 * Several environments that step together. A row is an agent of an environment: `count * agents` rows. The arrays are
 * the vector's own, the same all the time, and hold what the last `reset` or `step` gave.
 *
 * It resets by itself, as Gymnasium's "next step" mode does: the step that ends an episode gives its last observation,
 * and the step after it ignores the row's action, gives the first observation of the next episode and a reward of 0,
 * and says so in `resets`. What is between those two observations is no experience.
 */
export interface VectorEnvironment {
  readonly name: string;
  /** Whether `makeEnvironment(name)` would make others: where a function made these that is registered under no name. */
  readonly unlikeNamed?: boolean;
  readonly count: number;
  readonly agents: number;
  readonly rows: number;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly lessons: readonly string[] | undefined;
  /** [rows, flat size of the observation space]: see `flatSize`. */
  readonly observations: Float32Array;
  readonly rewards: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  /** 1 where this step began an episode instead of acting. */
  readonly resets: Uint8Array;
  /** [rows, number of choices], where the environments have action masks. */
  readonly actionMasks: Uint8Array | undefined;
  /**
   * Begins an episode everywhere; environment i is seeded from `seed` and i, and from then on draws by itself. What has
   * been an episode before is forgotten.
   */
  reset(seed: number): void;
  /**
   * One step of every environment. Actions are [rows, flat size of the action space]; whole numbers where the space
   * has whole numbers. Returns when all have stepped. Threads are waited for, without turning the event loop.
   */
  step(actions: Float32Array): void;
  /** Episodes that ended since this was last asked, in order of steps, then of rows. */
  ended(): readonly EpisodeEnd[];
  /** Means of the numbers that steps had in their `info` since this was last asked, by name. */
  infos?(): Readonly<Record<string, number>>;
  /** The lesson each environment's next episode has, by index; all the first unless told. Kept until told otherwise. */
  readonly nextLessons: Int32Array;
  /** How often each environment was made anew after a failure, by index, where such a thing can happen. */
  readonly restarts?: Int32Array;
  /** Unfinished episodes, returns so far and all: it goes on from there in the same way. */
  getState(): StateTree;
  setState(state: StateTree): void;
  close(): void;
}
