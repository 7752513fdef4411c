import { badOption, checkNames, EspalierError, shown } from "../core/index.ts";

export { badOption, checkSize, checkWord } from "../core/index.ts";

/** Refuses options that `kind` does not have. */
export function checkOptions(kind: string, options: object, known: readonly string[]): void {
  if (ArrayBuffer.isView(options))
    throw new EspalierError("OPTION_INVALID", `${kind}: a key was given where options stand`, {
      fix: `${kind} makes an initializer: call it, as in { init: ${kind}() }`,
    });
  checkNames(kind, options, known);
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
