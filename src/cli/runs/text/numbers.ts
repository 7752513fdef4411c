/** A measured value for people: five digits that count, and NaN and infinity by their names. */
export function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  // Whole numbers stay whole: a step of 1234567 is not 1234600.
  if (Number.isSafeInteger(value)) return String(value);
  const short = Number(value.toPrecision(5));
  return Math.abs(short) < 1e-3 ? short.toExponential() : String(short);
}

/** A count for people: `12,345`. */
export const countText = (count: number): string =>
  count.toLocaleString("en-US", { maximumFractionDigits: 1 });

/** `1 epoch`, `2 epochs`. The word is given in its plural, which ends in s. */
export const amountText = (count: number, plural: string): string =>
  `${countText(count)} ${count === 1 ? plural.replace(/s$/, "") : plural}`;
