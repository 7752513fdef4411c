import {
  badOption,
  checkOptions,
  EspalierError,
  errorText,
  type Options,
  required,
  shown,
} from "../../core/index.ts";
import { checkMade, type Environment } from "../environments/environment.ts";
import { checkSource, type EnvironmentSource, makeEnvironment } from "../environments/registry.ts";
import * as rows from "../option-rows.ts";
import {
  type EpisodeResult,
  type PlayedEpisode,
  type PlayOptions,
  playEpisodes,
  type RecordEpisode,
} from "./play.ts";

const suiteTable = {
  env: required(rows.source),
  /** One of the environment's lessons, by name or index. Default: 0. */
  lesson: rows.lesson,
  /** How many episodes. Default: the evaluation's `episodes`. */
  episodes: rows.size,
};

/** Episodes that are scored together. */
export interface Suite extends Options<typeof suiteTable> {}

/** Suites by name. Scores are called after them: `<name>.return`. */
export type Suites = Readonly<Record<string, Suite>>;

/**
 * A suite for each lesson of an environment, named after it, as curricula need them. Scores are `<lesson>.return`,
 * `<lesson>.positive` (the share of episodes with a return above 0), `<lesson>.episodes` and so on. An environment is
 * made to read its lessons; one of a file has to be loaded first: write its suites by hand.
 *
 * @example
 * ```ts
 * evaluationHook({ player: task.player, suites: lessonSuites("GridWorld-v0"), episodes: 20, schedule: every({ epochs: 5 }) });
 * ```
 */
export function lessonSuites(
  env: string | (() => Environment),
  { episodes }: { readonly episodes?: number } = {},
): Suites {
  const kind = "lessonSuites";
  checkSource(kind, "env", env);
  if (typeof env === "object")
    throw badOption(
      kind,
      "env is one of a file, which has to be loaded first",
      'name its lessons: suites: { easy: { env: { module, name }, lesson: "easy" } }',
    );
  const made = typeof env === "string" ? makeEnvironment(env) : checkMade(env(), kind);
  return suitesOf(env, made, episodes);
}

/** A suite for each lesson of a source. `made` is an environment of it, which is closed. */
export function suitesOf(env: EnvironmentSource, made: Environment, episodes?: number): Suites {
  const { lessons = [] } = made;
  made.close?.();
  if (lessons.length === 0)
    throw new EspalierError("LESSONS_MISSING", `${made.name} has no lessons`, {
      fix: `evaluate it as a whole: suites: { "${made.name}": { env } }`,
    });
  const more = episodes === undefined ? {} : { episodes };
  return Object.fromEntries(lessons.map((name, lesson) => [name, { env, lesson, ...more }]));
}

/** Refuses suites without names, environments or episodes. */
export function checkSuites(kind: string, suites: unknown): Suites {
  const fix = 'name at least one: suites: { all: { env: "CartPole-v1" } }';
  if (typeof suites !== "object" || suites === null) throw badOption(kind, `suites is ${shown(suites)}`, fix);
  const entries = Object.entries(suites as Suites);
  if (entries.length === 0) throw badOption(kind, "suites is empty", fix);
  for (const [name, suite] of entries) {
    if (name.trim() === "") throw badOption(kind, "a suite has no name", fix);
    checkOptions(`${kind}: suites.${name}`, suite, suiteTable);
    checkSource(`${kind}: suites.${name}`, "env", suite.env);
  }
  return suites as Suites;
}

/** Options of {@link evaluateSuites}. */
export interface EvaluateOptions extends Omit<PlayOptions, "env" | "lesson" | "record"> {
  readonly suites: Suites;
  /** Called at the beginning of each episode. If it returns a function, that gets a replay of the episode. */
  readonly record?: ((suite: string, start: PlayedEpisode) => ReturnType<RecordEpisode>) | undefined;
}

/** The results of a suite's episodes. */
export interface SuiteResult {
  readonly suite: string;
  /** `return`, `return.min`, `return.max`, `return.deviation`, `length`, `positive` and `episodes`. */
  readonly scores: Readonly<Record<string, number>>;
  readonly episodes: readonly EpisodeResult[];
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
  const { suites, record, ...rest } = options;
  const results: SuiteResult[] = [];
  for (const [suite, { env, lesson, episodes = options.episodes }] of Object.entries(suites)) {
    try {
      const played = await playEpisodes({
        ...rest,
        env,
        episodes,
        lesson,
        record: record && ((start) => record(suite, start)),
      });
      results.push({ suite, scores: scoresOf(played), episodes: played });
    } catch (cause) {
      if (!(cause instanceof EspalierError)) throw cause;
      throw new EspalierError(cause.code, `suite "${suite}": ${errorText(cause)}`, {
        ...(cause.fix !== undefined && { fix: cause.fix }),
        cause,
      });
    }
  }
  return results;
}

type Scores = Readonly<Record<string, number>>;

/**
 * Scores of episodes: their mean `return` with its extremes and its standard deviation, their mean `length`, the share
 * of them whose return is above 0 (`positive`), and their number (`episodes`).
 */
export function scoresOf(episodes: readonly EpisodeResult[]): Scores {
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
export function allScores(results: readonly Pick<SuiteResult, "suite" | "scores">[]): Scores {
  const all: Record<string, number> = { ...totalScores(results.map(({ scores }) => scores)) };
  for (const { suite, scores } of results)
    for (const [name, value] of Object.entries(scores)) all[`${suite}.${name}`] = value;
  return all;
}

/** The scores of all episodes, from those of their suites. */
function totalScores(each: readonly Scores[]): Scores {
  const of = (scores: Scores, name: string): number => scores[name] ?? Number.NaN;
  const episodes = each.reduce((sum, scores) => sum + of(scores, "episodes"), 0);
  const mean = (value: (scores: Scores) => number): number =>
    each.reduce((sum, scores) => sum + value(scores) * of(scores, "episodes"), 0) / episodes;
  const total = mean((scores) => of(scores, "return"));
  const variance = mean(
    (scores) => of(scores, "return.deviation") ** 2 + (of(scores, "return") - total) ** 2,
  );
  return {
    return: total,
    "return.min": Math.min(...each.map((scores) => of(scores, "return.min"))),
    "return.max": Math.max(...each.map((scores) => of(scores, "return.max"))),
    "return.deviation": Math.sqrt(variance),
    length: mean((scores) => of(scores, "length")),
    positive: mean((scores) => of(scores, "positive")),
    episodes,
  };
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
