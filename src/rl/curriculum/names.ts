import { badOption, EspalierError, shown } from "../../core/index.ts";

/** Lessons' names: some, none twice. */
export function checkedLessons(kind: string, names: readonly unknown[]): readonly string[] {
  if (!Array.isArray(names) || names.length === 0)
    throw badOption(kind, "there are no lessons", 'give their names: lessons: ["easy", "hard"]');
  const seen = new Set<string>();
  for (const name of names) {
    if (typeof name !== "string" || name === "")
      throw badOption(kind, `a lesson is named ${shown(name)}`, "give every lesson a name");
    if (seen.has(name)) throw badOption(kind, `two lessons are named "${name}"`, "rename one of them");
    seen.add(name);
  }
  return [...(names as readonly string[])];
}

/** A number of an option that lies between bounds, or what it is where nothing is given. */
export function between(
  kind: string,
  option: string,
  given: number | undefined,
  usual: number,
  [low, high]: readonly [low: number, high: number],
): number {
  const value = given ?? usual;
  if (typeof value === "number" && value >= low && value <= high) return value;
  throw badOption(kind, `${option} is ${shown(given)}`, `give a number from ${low} to ${high}`);
}

/** Refuses a state of other lessons. */
export function checkSameLessons(kind: string, saved: unknown, lessons: readonly string[]): void {
  if (
    Array.isArray(saved) &&
    saved.length === lessons.length &&
    saved.every((name, i) => name === lessons[i])
  )
    return;
  const theirs = Array.isArray(saved) ? `of the lessons ${saved.join(", ")}` : "of something else";
  throw new EspalierError(
    "STATE_INVALID",
    `this state is ${theirs}, and not of a ${kind} of ${lessons.join(", ")}`,
    {
      fix: "restore it into a curriculum with the same lessons in the same order",
    },
  );
}
