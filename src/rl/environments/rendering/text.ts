import { checkNames, checkSize } from "../../../core/index.ts";
import type { Drawing } from "../environment.ts";
import { Palette, rasterise } from "./raster.ts";

/** Options of {@link asText}. */
export interface TextOptions {
  /** Letters across. Default 80. */
  readonly columns?: number;
  /** Lines at most, without the caption. Default as many as the drawing's shape asks for. */
  readonly rows?: number;
  /** With ANSI colours, for a terminal. Default false: what is light is left blank. */
  readonly color?: boolean;
}

/** What stands for no colour: the first of a palette. */
const NOTHING = 0;
const NOTHING_COLOR = "#010203";
/** Above this lightness, of 1, a colour is paper. */
const PAPER = 0.75;
/** Which bit of a Braille letter is which dot: rows of two. */
const DOTS = [1, 8, 2, 16, 4, 32, 64, 128];

/**
 * A drawing in Braille letters, eight dots each, with its caption below. The same drawing gives the same text.
 *
 * @example
 * ```ts
 * process.stdout.write(`${asText(environment.render(), { columns: 60, color: true })}\n`);
 * ```
 */
export function asText(drawing: Drawing, options: TextOptions = {}): string {
  checkNames("asText", options, ["columns", "rows", "color"]);
  const columns = checkSize("asText", "columns", options.columns ?? 80);
  const most = options.rows === undefined ? Infinity : checkSize("asText", "rows", options.rows);
  // A letter is twice as high as wide, so that its dots, two by four, lie in squares.
  const scale = Math.min((2 * columns) / drawing.width, (4 * most) / drawing.height);
  const size = {
    across: Math.max(1, Math.ceil((drawing.width * scale) / 2 - 1e-9)),
    down: Math.max(1, Math.ceil((drawing.height * scale) / 4 - 1e-9)),
  };
  const palette = new Palette();
  const width = 2 * size.across;
  const dots = rasterise(drawing, {
    width,
    height: 4 * size.down,
    scale,
    palette,
    background: NOTHING_COLOR,
  });
  const write = options.color === true ? colored(palette) : plain(palette);
  const lines = Array.from({ length: size.down }, (_, row) =>
    write(
      Array.from({ length: size.across }, (_, column) =>
        DOTS.map((_, i) => dots[(4 * row + (i >> 1)) * width + 2 * column + (i & 1)] as number),
      ),
    ),
  );
  return [...lines, ...(drawing.caption === undefined ? [] : [drawing.caption])].join("\n");
}

/** Colours of the eight dots of each letter in a line. */
type Cells = readonly (readonly number[])[];

/** The letter whose dots are these. */
function braille(cell: readonly number[], isSet: (color: number) => boolean): string {
  const bits = cell.reduce((sum, color, i) => (isSet(color) ? sum | (DOTS[i] as number) : sum), 0);
  return bits === 0 ? " " : String.fromCharCode(0x2800 + bits);
}

function plain({ colors }: Palette): (cells: Cells) => string {
  const ink = colors.map((rgb, i) => i !== NOTHING && lightness(rgb) < PAPER);
  return (cells) =>
    cells
      .map((cell) => braille(cell, (color) => ink[color] === true))
      .join("")
      .trimEnd();
}

const lightness = (rgb: number): number =>
  (0.2126 * (rgb >> 16) + 0.7152 * ((rgb >> 8) & 255) + 0.0722 * (rgb & 255)) / 255;

function colored({ colors }: Palette): (cells: Cells) => string {
  const code = (kind: 38 | 48, color: number): string => {
    const rgb = colors[color] as number;
    return `${kind};2;${rgb >> 16};${(rgb >> 8) & 255};${rgb & 255}`;
  };
  return (cells) => {
    let before = "";
    const letters = cells.map((cell) => {
      const [behind, front] = twoColors(cell);
      const paint = [
        ...(behind === NOTHING ? [] : [code(48, behind)]),
        ...(front === undefined ? [] : [code(38, front)]),
      ].join(";");
      const switched = paint === before ? "" : `\x1b[0${paint && ";"}${paint}m`;
      before = paint;
      return switched + braille(cell, (color) => color !== behind);
    });
    // What is painted is no space, though it is written so.
    return before === "" ? letters.join("").trimEnd() : `${letters.join("")}\x1b[0m`;
  };
}

/** The colour behind a letter and that of its dots: nothing is behind where it is seen, else the most frequent. */
function twoColors(cell: readonly number[]): readonly [behind: number, front: number | undefined] {
  const counts = new Map<number, number>();
  for (const color of cell) counts.set(color, (counts.get(color) ?? 0) + 1);
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || a - b).map(([color]) => color);
  const behind = sorted.includes(NOTHING) ? NOTHING : (sorted[0] as number);
  return [behind, sorted.find((color) => color !== behind)];
}
