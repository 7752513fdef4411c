import type { StateTree } from "../../state/index.ts";
import type { Space } from "../spaces/space.ts";

// Vectors of environments: several environments that step together, with one row per agent of each.
//
//   vectorEnvironment      in this thread        hostVector ── EnvironmentRows
//   threadedEnvironment    in other threads      hostVector ── ThreadStepper ── ThreadPart ═ shared memory ═ EnvironmentRows
//   compiledRows           in the program        pure functions of traced values, by vmap
//
//   step(actions)                                                                  host-vector.ts
//     check the actions
//     for each environment of each thread:                                         rows.ts
//       its episode ended in the last step:  environment.reset()
//       otherwise:                           environment.step(its action)
//       check the result and write it to the environment's rows                    row-writer.ts
//       it threw or broke the contract:      raise, or make the environment again  failure.ts
//     collect episodes that ended
//
// An evaluation plays on the same EnvironmentRows, with a seed for every episode: evaluation/play.ts.

/** An episode of one row that is over. */
export interface EpisodeEnd {
  /** Index of the environment, and of its agent. */
  readonly environment: number;
  readonly agent: number;
  readonly return: number;
  readonly length: number;
  readonly lesson: number;
  readonly terminated: boolean;
}

/**
 * Several environments that step together. A row is an agent of an environment: `count * agents` rows. The arrays
 * belong to the vector, stay the same ones, and hold the result of the last `reset` or `step`.
 *
 * It resets by itself, as Gymnasium's "next step" mode does: the step that ends an episode gives its last observation,
 * and the step after it ignores the row's action, gives the first observation of the next episode and a reward of 0,
 * and sets `resets`. What lies between those two observations is no experience.
 */
export interface VectorEnvironment {
  readonly name: string;
  /** True if `makeEnvironment(name)` would make other environments: these were made by an unregistered function. */
  readonly unlikeNamed?: boolean;
  readonly count: number;
  readonly agents: number;
  readonly rows: number;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly lessons: readonly string[] | undefined;
  /** `[rows, flat size of the observation space]`: see `flatSize`. */
  readonly observations: Float32Array;
  readonly rewards: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  /** 1 where this step began an episode instead of acting. */
  readonly resets: Uint8Array;
  /** [rows, number of choices], where the environments have action masks. */
  readonly actionMasks: Uint8Array | undefined;
  /**
   * Begins an episode everywhere and forgets earlier ones. Environment i is seeded from `seed` and i, and draws its own
   * numbers from then on.
   */
  reset(seed: number): void;
  /**
   * One step of every environment. Actions are [rows, flat size of the action space]; whole numbers where the space
   * has whole numbers. Returns when all have stepped. It waits for threads without turning the event loop.
   */
  step(actions: Float32Array): void;
  /** Returns the episodes that ended since the last call, in order of steps, then of rows. */
  ended(): readonly EpisodeEnd[];
  /** Returns means of the numbers that steps had in their `info` since the last call, by name. */
  infos?(): Readonly<Record<string, number>>;
  /** The lesson of each environment's next episode, by index. Written by the caller. Default: 0. */
  readonly nextLessons: Int32Array;
  /** How often each environment was made again after a failure, by index. */
  readonly restarts?: Int32Array;
  /** The state, unfinished episodes and their returns so far included. */
  getState(): StateTree;
  setState(state: StateTree): void;
  close(): void;
}

/** A vector that can make single environments again. */
export interface RestartingVector extends VectorEnvironment {
  readonly restarts: Int32Array;
}
