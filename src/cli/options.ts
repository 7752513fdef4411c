import { EspalierError } from "../core/index.ts";

/** Reads a whole number that was typed after an option, from `least` to `most`. */
export const countOf =
  (option: string, least = 1, most = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text.trim()) && number >= least && number <= most) return number;
    const range = most < Number.MAX_SAFE_INTEGER ? `from ${least} to ${most}` : `from ${least} on`;
    throw invalid(option, text, `give a whole number ${range}`);
  };

/** Reads a number that was typed after an option: `most` and `least` belong to its range. */
export const numberOf =
  (option: string, least: number, most: number, what = "a number") =>
  (text: string): number => {
    const number = Number(text);
    if (/^\d*\.?\d+$/.test(text.trim()) && number >= least && number <= most) return number;
    throw invalid(option, text, `give ${what} from ${least} to ${most}`);
  };

export const invalid = (option: string, text: string, fix: string): EspalierError =>
  new EspalierError("OPTION_INVALID", `${option} is "${text}"`, { fix });

/** The members that have a value: options that were left out are none. */
export const given = <T extends object>(options: T): Given<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;

type Given<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };
