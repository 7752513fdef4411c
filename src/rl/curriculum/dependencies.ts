import { didYouMean, EspalierError } from "../../core/index.ts";

/** What a lesson comes after, by name. */
export interface Ordered {
  readonly name: string;
  readonly after?: readonly string[] | undefined;
}

/** For every lesson the indices of those it comes after. Names that are not there and cycles are errors. */
export function dependenciesOf(lessons: readonly Ordered[]): readonly (readonly number[])[] {
  const names = lessons.map(({ name }) => name);
  const dependencies = lessons.map(({ name, after = [] }) =>
    [...new Set(after)].map((before) => {
      const index = names.indexOf(before);
      if (index >= 0) return index;
      throw new EspalierError(
        "LESSON_UNKNOWN",
        `lesson "${name}" comes after "${before}", which is not among the lessons${didYouMean(before, names)}`,
        { fix: `the lessons are ${names.join(", ")}` },
      );
    }),
  );
  const cycle = cycleIn(dependencies);
  if (cycle)
    throw new EspalierError(
      "LESSON_CYCLE",
      `these lessons wait for each other: ${cycle.map((i) => `"${names[i]}"`).join(" after ")}`,
      {
        fix: "take one of them out of the `after` of the other: as it is, none of them would ever be unlocked",
      },
    );
  return dependencies;
}

/** The first cycle, with its beginning repeated at the end. */
function cycleIn(dependencies: readonly (readonly number[])[]): readonly number[] | undefined {
  const done = new Set<number>();
  const path: number[] = [];
  const visit = (lesson: number): readonly number[] | undefined => {
    if (done.has(lesson)) return undefined;
    const at = path.indexOf(lesson);
    if (at >= 0) return [...path.slice(at), lesson];
    path.push(lesson);
    for (const before of dependencies[lesson] ?? []) {
      const found = visit(before);
      if (found) return found;
    }
    path.pop();
    done.add(lesson);
    return undefined;
  };
  for (const lesson of dependencies.keys()) {
    const found = visit(lesson);
    if (found) return found;
  }
  return undefined;
}
