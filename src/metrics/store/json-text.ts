/** JSON in which numbers that it does not have are strings: `"NaN"`, `"Infinity"`, `"-Infinity"`. */
export const jsonOf = (value: unknown): string =>
  JSON.stringify(value, (_name, part: unknown) =>
    typeof part === "number" && !Number.isFinite(part) ? String(part) : part,
  ) ?? "null";

/** Numbers by name, out of what `jsonOf` made of them. */
export function numbersOf(given: object): Record<string, number> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, Number(value)]));
}

const unstorable = /[\0\p{Surrogate}]/gu;

/** A text without what databases refuse or cut at: zero characters and halves of pairs become U+FFFD. */
export const storable = (text: string): string => text.replace(unstorable, "\uFFFD");
