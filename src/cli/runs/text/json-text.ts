/** JSON in which NaN and infinity keep their names, as strings: JSON has no numbers for them. */
export const jsonText = (value: unknown): string =>
  JSON.stringify(
    value,
    (_name, part: unknown) => (typeof part === "number" && !Number.isFinite(part) ? String(part) : part),
    2,
  );
