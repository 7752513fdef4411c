/**
 * Text from a store, safe to print: what could move the cursor, change colours or turn the line around is shown as a
 * mark. Names of runs and metrics come from anywhere.
 */
export const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\u{fffd}");

/** The beginning of a text that is too long, with a mark that it goes on. */
export function shortened(text: string, length: number): string {
  const letters = [...text];
  return letters.length <= length ? text : `${letters.slice(0, Math.max(0, length - 3)).join("")}...`;
}
