import type { Replay } from "../replays/replay.ts";

/** How an episode went. */
export interface EpisodeResult {
  /** What was earned in it; with several agents the mean of what each of them did. */
  readonly return: number;
  readonly length: number;
  /** False where it was truncated. */
  readonly terminated: boolean;
  /** Index of its lesson. */
  readonly lesson: number;
  /** What its environment was reset with. */
  readonly seed: number;
}

/** Which episode begins. */
export interface PlayedEpisode {
  /** Its number among those that are played, from 0. */
  readonly episode: number;
  readonly environment: string;
  readonly seed: number;
  readonly lesson: number;
}

/** Asked at the beginning of an episode: who gives a function gets a replay of it at its end. */
export type RecordEpisode = (start: PlayedEpisode) => ((replay: Replay) => void) | undefined;
