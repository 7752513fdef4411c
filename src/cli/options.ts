import { EspalierError } from "../core/index.ts";

/** A whole number that was typed, from `least` (default 1) to `most`. */
export function countOf(option: string, text: string, least = 1, most = Number.MAX_SAFE_INTEGER): number {
  const number = Number(text);
  if (/^\d+$/.test(text.trim()) && number >= least && number <= most) return number;
  const range = most < Number.MAX_SAFE_INTEGER ? `from ${least} to ${most}` : `from ${least} on`;
  throw invalid(option, text, `give a whole number ${range}`);
}

/** A number that was typed, with its range: `most` and `least` belong to it. */
export function numberOf(option: string, text: string, least: number, most: number, what: string): number {
  const number = Number(text);
  if (/^\d*\.?\d+$/.test(text.trim()) && number >= least && number <= most) return number;
  throw invalid(option, text, `give ${what} from ${least} to ${most}`);
}

const invalid = (option: string, text: string, fix: string): EspalierError =>
  new EspalierError("OPTION_INVALID", `${option} is "${text}"`, { fix });
