import { didYouMean, EspalierError } from "../core/index.ts";

/** Refuses options that `kind` does not have. */
export function checkOptions(kind: string, options: object, known: readonly string[]): void {
  if (ArrayBuffer.isView(options))
    throw new EspalierError("OPTION_INVALID", `${kind}: a key was given where options stand`, {
      fix: `${kind} makes an initializer: call it, as in { init: ${kind}() }`,
    });
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

/** An error about the value of an option. */
export const badOption = (kind: string, what: string, fix: string): EspalierError =>
  new EspalierError("OPTION_INVALID", `${kind}: ${what}`, { fix });

const shown = (given: unknown): string =>
  typeof given === "number" ? String(given) : (JSON.stringify(given) ?? String(given));

/** A size: a whole number from 1 on. */
export function checkSize(kind: string, option: string, given: unknown): number {
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= 1) return given;
  throw badOption(kind, `${option} is ${shown(given)}`, "give a whole number from 1 on");
}

/** Sizes: one whole number from 1 on for all of `n`, or one for each. */
export function checkSizes(kind: string, option: string, given: unknown, n: number): readonly number[] {
  const list = Array.isArray(given) ? (given as readonly unknown[]) : Array.from({ length: n }, () => given);
  if (list.length === n && list.every((size) => Number.isSafeInteger(size) && (size as number) >= 1))
    return list as readonly number[];
  const fix = n === 1 ? "give a whole number from 1 on" : `give a whole number from 1 on, or ${n} of them`;
  throw badOption(kind, `${option} is ${shown(given)}`, fix);
}

/** A finite number, of which `holds` may ask more. */
export function checkNumber(
  kind: string,
  option: string,
  given: unknown,
  holds: (x: number) => boolean = () => true,
  fix = "give a finite number",
): number {
  if (typeof given === "number" && Number.isFinite(given) && holds(given)) return given;
  throw badOption(kind, `${option} is ${shown(given)}`, fix);
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
