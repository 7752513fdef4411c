/** How a recorded episode ended: by itself, broken off by the environment, or because the recording did. */
export type ReplayEnd = "terminated" | "truncated" | "cut";

/**
 * An episode, compact: what it takes to play it again, and what must come out. An environment that gives the same
 * episode for the same seed and actions gives the same pictures.
 */
export interface Replay {
  /** The name under which `makeEnvironment` knows it. */
  readonly environment: string;
  /** The lesson by index, and its name where the environment has names for them. */
  readonly lesson: number;
  readonly lessonName?: string | undefined;
  readonly seed: number;
  readonly agents: number;
  /** Steps. */
  readonly length: number;
  /** [length, agents, action size]: whole numbers where the space has whole numbers. */
  readonly actions: Float32Array;
  /** The sum of rewards of every agent, and their mean. */
  readonly returns: readonly number[];
  readonly return: number;
  readonly end: ReplayEnd;
  readonly observations: ObservationMarks;
  /** Whatever else is worth knowing: the step of training, the checkpoint. */
  readonly about: Readonly<Record<string, string | number | boolean>>;
}

/** What observations were, in a few bytes. */
export interface ObservationMarks {
  /** The sha256 of all of them, the first included, as flat rows of 32-bit floats. */
  readonly digest: string;
  /** After every so many of them, the first four bytes of the sha256 so far: they tell about where a difference is. */
  readonly every: number;
  readonly marks: Uint32Array;
}
