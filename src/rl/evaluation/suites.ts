import { badOption, checkNames, checkSize, EspalierError, shown } from "../../core/index.ts";
import { checkMade, type Environment } from "../environments/environment.ts";
import { checkSource, type EnvironmentSource, makeEnvironment } from "../environments/registry.ts";

/** Episodes that are scored together. */
export interface Suite {
  readonly environment: EnvironmentSource;
  /** One of the environment's lessons, by name or index; the first unless told. */
  readonly lesson?: string | number;
  /** How many, instead of the evaluation's own number. */
  readonly episodes?: number;
}

/** Suites by name. Scores are called after them: `<name>.return`. */
export type Suites = Readonly<Record<string, Suite>>;

/**
 * A suite for each lesson of an environment, named after it: what a curriculum is told of. Scores are `<lesson>.return`,
 * `<lesson>.positive` (the share of episodes with a return above 0), `<lesson>.episodes` and so on. One is made to find
 * out; those of a file would have to be waited for: write their suites by hand.
 *
 * @example
 * ```ts
 * evaluationHook({ player: task.player, suites: lessonSuites("GridWorld-v0"), episodes: 20, schedule: every({ epochs: 5 }) });
 * ```
 */
export function lessonSuites(
  environment: string | (() => Environment),
  { episodes }: { readonly episodes?: number } = {},
): Suites {
  const kind = "lessonSuites";
  checkSource(kind, "the environment", environment);
  if (typeof environment === "object")
    throw badOption(
      kind,
      "the environment is one of a file, which has to be loaded first",
      'name its lessons: suites: { easy: { environment: { module, name }, lesson: "easy" } }',
    );
  const made =
    typeof environment === "string" ? makeEnvironment(environment) : checkMade(environment(), kind);
  return suitesOf(environment, made, episodes);
}

/** A suite for each lesson of an environment that was made of a source, and is not needed any more. */
export function suitesOf(environment: EnvironmentSource, made: Environment, episodes?: number): Suites {
  const { lessons = [] } = made;
  made.close?.();
  if (lessons.length === 0)
    throw new EspalierError("LESSONS_MISSING", `${made.name} has no lessons`, {
      fix: `evaluate it as a whole: suites: { "${made.name}": { environment } }`,
    });
  const more = episodes === undefined ? {} : { episodes };
  return Object.fromEntries(lessons.map((name, lesson) => [name, { environment, lesson, ...more }]));
}

/** Refuses suites that nobody can have meant. */
export function checkSuites(kind: string, suites: unknown): Suites {
  const fix = 'name at least one: suites: { all: { environment: "CartPole-v1" } }';
  if (typeof suites !== "object" || suites === null) throw badOption(kind, `suites is ${shown(suites)}`, fix);
  const entries = Object.entries(suites as Suites);
  if (entries.length === 0) throw badOption(kind, "suites is empty", fix);
  for (const [name, suite] of entries) {
    const what = `${kind}: suites.${name}`;
    if (name.trim() === "") throw badOption(kind, "a suite has no name", fix);
    if (typeof suite !== "object" || suite === null) throw badOption(what, `it is ${shown(suite)}`, fix);
    checkNames(what, suite, ["environment", "lesson", "episodes"]);
    checkSource(what, "environment", suite.environment);
    if (suite.episodes !== undefined) checkSize(what, "episodes", suite.episodes);
  }
  return suites as Suites;
}
