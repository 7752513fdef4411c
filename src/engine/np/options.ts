import { didYouMean, shown } from "../../core/index.ts";
import { userError } from "../trace/location.ts";

/** Refuses options a function does not have, and what are no options at all. */
export function checkOptions(op: string, options: object, known: readonly string[]): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw badOption(op, `its options are ${shown(options)}`, `give an object: { ${known[0]}: ... }`);
  for (const name of Object.keys(options))
    if (!known.includes(name))
      throw userError(
        "OPTION_UNKNOWN",
        `${op}: there is no option "${name}"${didYouMean(name, known)}`,
        `the options of ${op} are ${known.join(", ")}`,
      );
}

/** An error about the value of an option. */
export const badOption = (op: string, what: string, fix: string) =>
  userError("OPTION_INVALID", `${op}: ${what}`, fix);

/** Refuses a word an option does not know. */
export function oneOf<T extends string>(op: string, option: string, given: unknown, known: readonly T[]): T {
  const found = known.find((word) => word === given);
  if (found !== undefined) return found;
  const hint = typeof given === "string" ? didYouMean(given, known) : "";
  throw badOption(op, `${option} cannot be ${JSON.stringify(given)}${hint}`, `use ${known.join(", ")}`);
}

/** One whole number from 1 on for each of `n` spatial axes, from one for all or a list. */
export function perAxis(
  op: string,
  option: string,
  given: number | readonly number[],
  n: number,
): readonly number[] {
  const list = typeof given === "number" ? Array.from({ length: n }, () => given) : given;
  if (!Array.isArray(list) || list.length !== n || !list.every((v) => Number.isInteger(v) && v >= 1))
    throw badOption(
      op,
      `${option} is ${JSON.stringify(given)}, for ${n} spatial ${n === 1 ? "axis" : "axes"}`,
      `give a whole number from 1 on, or ${n} of them`,
    );
  return list;
}
