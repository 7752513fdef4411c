import { didYouMean, EspalierError } from "../core/index.ts";

/** An error about the value of an option. */
export const badOption = (kind: string, what: string, fix: string): EspalierError =>
  new EspalierError("OPTION_INVALID", `${kind}: ${what}`, { fix });

/** Refuses options that are not there. */
export function checkNames(kind: string, options: object, known: readonly string[]): void {
  for (const name of Object.keys(options))
    if (!known.includes(name))
      throw new EspalierError(
        "OPTION_UNKNOWN",
        `${kind}: there is no option "${name}"${didYouMean(name, known)}`,
        { fix: `the options of ${kind} are ${known.join(", ")}` },
      );
}

/** A whole number from 1 on. */
export function checkSize(kind: string, option: string, given: unknown): number {
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= 1) return given;
  throw badOption(kind, `${option} is ${shown(given)}`, "give a whole number from 1 on");
}

/** One of the words an option knows. */
export function checkWord<T extends string>(
  kind: string,
  option: string,
  given: unknown,
  known: readonly T[],
): T {
  const found = known.find((word) => word === given);
  if (found !== undefined) return found;
  const hint = typeof given === "string" ? didYouMean(given, known) : "";
  throw badOption(
    kind,
    `${option} cannot be ${shown(given)}${hint}`,
    `use ${known.map((w) => `"${w}"`).join(", ")}`,
  );
}

export const shown = (given: unknown): string =>
  typeof given === "number" ? String(given) : (JSON.stringify(given) ?? String(given));
