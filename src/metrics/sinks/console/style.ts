import pc from "picocolors";
import { widthOf } from "../../../core/index.ts";

export type Paint = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "alarm";

/** A stretch of text in one colour. Colours come last, so that widths are counted without them. */
export interface Span {
  readonly text: string;
  readonly paint?: Paint;
}

export type Row = readonly Span[];

/** What is drawn with. */
export interface Style {
  readonly paint: (span: Span) => string;
  readonly up: string;
  readonly down: string;
  readonly same: string;
  readonly ellipsis: string;
  /** Cells of the bar: empty, and filled ever more; the last is full. */
  readonly cells: readonly string[];
  readonly edges: readonly [string, string];
}

export interface StyleOptions {
  readonly color: boolean;
  readonly unicode: boolean;
}

export function styleOf({ color, unicode }: StyleOptions): Style {
  const colors = pc.createColors(color);
  const alarm = (text: string): string => colors.bold(colors.red(text));
  const paint = ({ text, paint: name }: Span): string => {
    // Spaces have no colour: a line that is cut or selected stays clean.
    if (name === undefined || text.trim() === "") return text;
    return name === "alarm" ? alarm(text) : colors[name](text);
  };
  return unicode
    ? { paint, up: "↑", down: "↓", same: "=", ellipsis: "…", cells: [..."░▏▎▍▌▋▊▉█"], edges: ["", ""] }
    : { paint, up: "+", down: "-", same: "=", ellipsis: "..", cells: [".", "#"], edges: ["[", "]"] };
}

/** The row as it is written. */
export const painted = (row: Row, style: Style): string => row.map(style.paint).join("");

/** How many columns it takes. */
export const rowWidth = (row: Row): number => row.reduce((sum, { text }) => sum + widthOf(text), 0);

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Whether to use colours where nobody said: `NO_COLOR` forbids them, `FORCE_COLOR` wants them even where nobody watches
 * (`0` and `false` forbid them), else a terminal has them.
 */
export function wantsColor(terminal: boolean, env: Environment): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== "0" && env.FORCE_COLOR !== "false";
  return terminal;
}

/** Whether a terminal can be expected to have arrows and blocks. */
export function hasUnicode(env: Environment, platform: string): boolean {
  if (platform !== "win32") return env.TERM !== "linux";
  return Boolean(env.WT_SESSION || env.TERM_PROGRAM || env.TERM?.startsWith("xterm"));
}

/** Whether the cursor can be moved: not everything that is a terminal can do it. */
export const isLive = (stream: { readonly isTTY?: boolean }, env: Environment): boolean =>
  stream.isTTY === true && env.TERM !== "dumb";
