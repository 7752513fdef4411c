import { badOption, checkOptions, EspalierError, option, shown } from "../core/index.ts";
import { hostRandom } from "../engine/index.ts";
import { shuffled } from "./loader.ts";

/** The class of a row, or the classes of all rows in order. */
export type StratifyOption<T> = ((row: T) => string | number) | ArrayLike<string | number>;

export const splitTable = {
  seed: option.integer({ default: 0, doc: "Another seed gives other parts." }),
  stratify: option.made<StratifyOption<never>>(
    "the class of a row, (row) => row.label, or a list with the class of each row",
    (value) => typeof value === "function" || typeof (value as ArrayLike<unknown>)?.length === "number",
    {},
  ),
};

/** The shares of parts, which make a whole. */
export function shares(kind: string, parts: Readonly<Record<string, number>>): readonly number[] {
  const share = option.number({ above: 0, max: 1, required: true });
  checkOptions(kind, parts, Object.fromEntries(Object.keys(Object(parts)).map((name) => [name, share])));
  const sum = Object.values(parts).reduce((a, b) => a + b, 0);
  if (Math.abs(sum - 1) <= 1e-9) return Object.values(parts);
  throw badOption(kind, `the shares make ${sum}`, "give shares that make 1: { train: 0.8, validation: 0.2 }");
}

export function stratifyBy<T>(
  name: string,
  length: number,
  stratify: StratifyOption<T>,
  get: (index: number) => T | Promise<T>,
): readonly (string | number)[] {
  if (typeof stratify !== "function") {
    if (stratify.length === length) return Array.from(stratify);
    const what = `there are ${stratify.length} classes for the ${length} rows of ${name}`;
    throw badOption("stratify", what, "give the class of each row");
  }
  return Array.from({ length }, (_, index) => {
    const row = get(index);
    if (!(row instanceof Promise)) {
      const found: unknown = stratify(row);
      if (typeof found === "string" || typeof found === "boolean" || Number.isFinite(found))
        return found as string | number;
      const what = `the class of row ${index} of ${name} is ${shown(found)}`;
      throw badOption("stratify", what, "give a text or a number for each row: (row) => row.label");
    }
    row.catch(() => undefined);
    throw badOption(
      "stratify",
      `the rows of ${name} are not in memory, so that a function cannot look at them`,
      "give a list with the class of each row (imageFolder has it: images.labels), or await data.inMemory() first",
    );
  });
}

/**
 * The rows of each part, ascending. Rows in random order, class after class, go one by one to the part that lacks the
 * most of its share: so each part has its share of the rows and of every class, to within a row or two.
 */
export function dealRows(
  name: string,
  length: number,
  parts: readonly number[],
  seed = 0,
  classes?: readonly (string | number)[],
): readonly Int32Array[] {
  const order = [...shuffled(hostRandom.hostKey(seed), length)];
  if (classes) {
    const ranks = new Map([...new Set(classes)].sort(inOrder).map((each, rank) => [each, rank]));
    order.sort((a, b) => (ranks.get(classes[a] ?? "") ?? 0) - (ranks.get(classes[b] ?? "") ?? 0));
  }
  const dealt = parts.map((): number[] => []);
  order.forEach((row, i) => {
    const lacks = parts.map((share, p) => share * (i + 1) - (dealt[p]?.length ?? 0));
    dealt[lacks.indexOf(Math.max(...lacks))]?.push(row);
  });
  if (dealt.some((rows) => rows.length === 0))
    throw new EspalierError(
      "DATA_TOO_SMALL",
      `${name}: ${length} rows are too few for ${parts.length} parts with ${parts.map((share) => Number(share.toFixed(3))).join(", ")} of them`,
      { fix: "give more rows, or fewer or larger parts" },
    );
  return dealt.map((rows) => Int32Array.from(rows).sort());
}

/** Values in order: numbers before texts. */
export const inOrder = (a: string | number | boolean, b: string | number | boolean): number =>
  typeof a === typeof b ? (a < b ? -1 : Number(a > b)) : typeof a < typeof b ? -1 : 1;
