import type { EspalierError } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { InfoSums } from "./infos.ts";
import type { Memory } from "./memory.ts";

/** Some environments of a vector that stand together, and their memory. */
export interface Part {
  readonly first: number;
  readonly count: number;
  readonly memory: Memory;
}

/** An environment that was made anew, by its index in the vector. */
export interface Restart {
  readonly index: number;
  readonly error: EspalierError;
}

/** What steps the environments of a vector: this thread, or others. */
export interface Stepper {
  readonly parts: readonly Part[];
  /** Those that were made anew; whoever reads it empties it. */
  readonly restarts: Restart[];
  /** What numbers steps had in their info, until they are asked for. */
  readonly infos: InfoSums;
  /** The first observation beyond its bounds in words, where there was one; whoever reads it empties it. */
  readonly outside: string[];
  /** Whatever has died is replaced, so that there is memory to fill before `begin` or `restore`. */
  revive(): void;
  /** Begins an episode everywhere, from the seeds in memory. */
  begin(): void;
  step(actions: Float32Array): void;
  /** Of the environments in order; null for those that begin with a seed. */
  states(): readonly StateTree[];
  /** Takes up states of environments, whose memory has been filled. */
  restore(states: readonly StateTree[]): void;
  close(): void;
}
