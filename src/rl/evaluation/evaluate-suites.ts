import { EspalierError } from "../../core/index.ts";
import type { PlayedEpisode, RecordEpisode } from "./episode.ts";
import { type PlayOptions, playEpisodes } from "./play.ts";
import { type SuiteResult, scoresOf } from "./scores.ts";
import type { Suites } from "./suites.ts";

/** How suites are evaluated. */
export interface EvaluateOptions
  extends Omit<PlayOptions, "environment" | "lesson" | "record" | "vectorCount"> {
  readonly suites: Suites;
  readonly vectorCount?: number | undefined;
  /** Asked at the beginning of each episode of each suite: who gives a function gets a replay of it at its end. */
  readonly record?: ((suite: string, start: PlayedEpisode) => ReturnType<RecordEpisode>) | undefined;
}

/**
 * Plays every suite, one after the other, and scores each.
 *
 * @example
 * ```ts
 * const results = await evaluateSuites({ player, state, suites: lessonSuites("GridWorld-v0"), episodes: 20, seed: 0 });
 * ```
 */
export async function evaluateSuites(options: EvaluateOptions): Promise<readonly SuiteResult[]> {
  const { suites, record, vectorCount, ...rest } = options;
  const results: SuiteResult[] = [];
  for (const [suite, { environment, lesson, episodes = options.episodes }] of Object.entries(suites)) {
    try {
      const played = await playEpisodes({
        ...{ ...rest, environment, episodes },
        ...(lesson !== undefined && { lesson }),
        ...(vectorCount !== undefined && { vectorCount }),
        ...(record && { record: (start) => record(suite, start) }),
      });
      results.push({ suite, scores: scoresOf(played), episodes: played });
    } catch (cause) {
      throw named(suite, cause);
    }
  }
  return results;
}

/** Says which suite it was. */
function named(suite: string, cause: unknown): unknown {
  if (!(cause instanceof EspalierError)) return cause;
  const text = cause.message.split(` [${cause.code}]`)[0];
  return new EspalierError(cause.code, `suite "${suite}": ${text}`, {
    ...(cause.fix !== undefined && { fix: cause.fix }),
    cause,
  });
}
