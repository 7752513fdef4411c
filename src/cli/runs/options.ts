import { EspalierError } from "../../core/index.ts";

/** A whole number from 1 on that was typed. */
export function countOf(option: string, text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text.trim()) && Number.isSafeInteger(number) && number > 0) return number;
  throw invalid(option, text, "give a whole number above 0");
}

/** A number of seconds that was typed. */
export function secondsOf(option: string, text: string): number {
  const number = Number(text);
  if (/^\d*\.?\d+$/.test(text.trim()) && number >= 0.05 && number <= 86_400) return number;
  throw invalid(option, text, "give seconds from 0.05 to 86400");
}

/** A step of a run that was typed. */
export function stepOf(option: string, text: string): number {
  if (/^\d+(\.\d+)?$/.test(text.trim())) return Number(text);
  throw invalid(option, text, "give a step, such as 1200");
}

const invalid = (option: string, text: string, fix: string): EspalierError =>
  new EspalierError("OPTION_INVALID", `${option} is "${text}"`, { fix });
