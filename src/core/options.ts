import { EspalierError } from "./error.ts";
import { didYouMean } from "./suggest.ts";

/** An error about the value of an option. */
export const badOption = (kind: string, what: string, fix: string): EspalierError =>
  new EspalierError("OPTION_INVALID", `${kind}: ${what}`, { fix });

/** Refuses options that `kind` does not have, and what are no options at all. */
export function checkNames(kind: string, options: object, known: readonly string[]): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw badOption(
      kind,
      `its options are ${shown(options)}`,
      known.length === 0 ? "leave them out" : `give an object: { ${known[0]}: ... }`,
    );
  for (const name of Object.keys(options))
    if (!known.includes(name))
      throw new EspalierError(
        "OPTION_UNKNOWN",
        `${kind}: there is no option "${name}"${didYouMean(name, known)}`,
        {
          fix:
            known.length === 0 ? `${kind} has no options` : `the options of ${kind} are ${known.join(", ")}`,
        },
      );
}

/** A size: a whole number from 1 on. */
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
  const words = known.map((word) => `"${word}"`).join(", ");
  throw badOption(kind, `${option} cannot be ${shown(given)}${hint}`, `use ${words}`);
}

/** A value as messages show it. */
export function shown(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "function" ? "a function" : (JSON.stringify(value) ?? String(value));
}
