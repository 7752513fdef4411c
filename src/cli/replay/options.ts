import { EspalierError } from "../../core/index.ts";
import { countOf } from "../runs/options.ts";

/** What `espalier replay` is called with. */
export interface ReplayCommandOptions {
  readonly speed: string;
  readonly svg?: string;
  readonly gif?: string;
  readonly frames?: boolean;
  readonly columns?: string;
  readonly width: string;
  readonly module?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** Steps a second at speed 1. */
const FPS = 30;

/** Pictures a second. */
export function fpsOf(speed: string): number {
  const number = Number(speed);
  if (/^\d*\.?\d+$/.test(speed.trim()) && number >= 0.01 && number <= 30) return FPS * number;
  throw new EspalierError("OPTION_INVALID", `--speed is "${speed}"`, {
    fix: "give a number from 0.01 to 30",
  });
}

/** Letters a line, or pixels a picture. */
export function widthOf(option: string, text: string, least: number, most: number): number {
  const number = countOf(option, text);
  if (number >= least && number <= most) return number;
  throw new EspalierError("OPTION_INVALID", `${option} is "${text}"`, {
    fix: `give a whole number from ${least} to ${most}`,
  });
}
