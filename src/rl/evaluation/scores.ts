import { EspalierError } from "../../core/index.ts";
import type { EpisodeResult } from "./episode.ts";

/** How the episodes of a suite went. */
export interface SuiteResult {
  readonly suite: string;
  /** `return`, `return.min`, `return.max`, `return.deviation`, `length`, `positive` and `episodes`. */
  readonly scores: Readonly<Record<string, number>>;
  readonly episodes: readonly EpisodeResult[];
}

/**
 * Scores of episodes: their mean `return` with its extremes and its standard deviation, their mean `length`, the share
 * of them whose return is above 0 (`positive`), and how many they are (`episodes`).
 *
 * @example
 * ```ts
 * scoresOf(await playEpisodes({ player, state, environment: "CartPole-v1", episodes: 20, seed: 0 })).return;
 * ```
 */
export function scoresOf(episodes: readonly EpisodeResult[]): Readonly<Record<string, number>> {
  if (episodes.length === 0)
    throw new EspalierError("EPISODES_MISSING", "there are no episodes to score", {
      fix: "play at least one",
    });
  const returns = episodes.map((episode) => episode.return);
  const mean = meanOf(returns);
  return {
    return: mean,
    "return.min": Math.min(...returns),
    "return.max": Math.max(...returns),
    "return.deviation": Math.sqrt(meanOf(returns.map((each) => (each - mean) ** 2))),
    length: meanOf(episodes.map(({ length }) => length)),
    positive: returns.filter((each) => each > 0).length / returns.length,
    episodes: returns.length,
  };
}

/**
 * The scores of all suites in one row, as slots, metrics and checkpoints have them: `<suite>.return` and so on, and
 * without a suite's name those of all episodes together.
 */
export function allScores(
  results: readonly Pick<SuiteResult, "suite" | "scores">[],
): Readonly<Record<string, number>> {
  const all: Record<string, number> = { ...together(results.map(({ scores }) => scores)) };
  for (const { suite, scores } of results)
    for (const [name, value] of Object.entries(scores)) all[`${suite}.${name}`] = value;
  return all;
}

/** The scores of all episodes together, from those of their suites. */
function together(each: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const of = (scores: Readonly<Record<string, number>>, name: string): number => scores[name] ?? Number.NaN;
  const episodes = each.reduce((sum, scores) => sum + of(scores, "episodes"), 0);
  const mean = (value: (scores: Readonly<Record<string, number>>) => number): number =>
    each.reduce((sum, scores) => sum + value(scores) * of(scores, "episodes"), 0) / episodes;
  const total = mean((scores) => of(scores, "return"));
  const spread = mean((scores) => of(scores, "return.deviation") ** 2 + (of(scores, "return") - total) ** 2);
  return {
    return: total,
    "return.min": Math.min(...each.map((scores) => of(scores, "return.min"))),
    "return.max": Math.max(...each.map((scores) => of(scores, "return.max"))),
    "return.deviation": Math.sqrt(spread),
    length: mean((scores) => of(scores, "length")),
    positive: mean((scores) => of(scores, "positive")),
    episodes,
  };
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
