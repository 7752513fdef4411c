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

/** As long as a value may be in a message. */
const longest = 120;

/** A value as messages show it, whatever it is; long ones are cut. */
export function shown(value: unknown): string {
  const text = inWords(value);
  return text.length > longest ? `${text.slice(0, longest - 3)}...` : text;
}

function inWords(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // It refers to itself, or has something within that JSON does not know.
    if (Array.isArray(value)) return "a list";
    const name = value?.constructor?.name ?? "Object";
    return name === "Object" ? "an object" : `an object of class ${name}`;
  }
}
