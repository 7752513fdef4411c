import { type Options, option, resolveOptions } from "../../../core/index.ts";
import type { Drawing } from "../environment.ts";
import { Palette, rasterise } from "./raster.ts";

const optionTable = {
  /** Width in characters. Default: 80. */
  columns: option.integer({ min: 1, default: 80 }),
  /** Most lines, without the caption. Default: what the drawing's shape needs. */
  rows: option.integer({ min: 1 }),
  /** With ANSI colours, for a terminal. Without them light colours are left blank. Default: false. */
  color: option.flag({ default: false }),
};

/** No colour: the first of a palette. */
const NOTHING = 0;
const NOTHING_COLOR = "#010203";
/** Colours above this lightness, from 0 to 1, are left blank. */
const PAPER = 0.75;
/** Bits of the dots of a Braille character, in rows of two. */
const DOTS = [1, 8, 2, 16, 4, 32, 64, 128];

/**
 * Draws in Braille characters of eight dots each, with the caption below. The same drawing gives the same text.
 *
 * @example
 * ```ts
 * process.stdout.write(`${asText(environment.render(), { columns: 60, color: true })}\n`);
 * ```
 */
export function asText(drawing: Drawing, options: Options<typeof optionTable> = {}): string {
  const { columns, rows = Infinity, color } = resolveOptions("asText", options, optionTable);
  // A character is twice as high as wide, so that its dots, two by four, lie in squares.
  const scale = Math.min((2 * columns) / drawing.width, (4 * rows) / drawing.height);
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
  const write = color ? colored(palette) : plain(palette);
  const lines = Array.from({ length: size.down }, (_, row) =>
    write(
      Array.from({ length: size.across }, (_, column) =>
        DOTS.map((_, i) => dots[(4 * row + (i >> 1)) * width + 2 * column + (i & 1)] as number),
      ),
    ),
  );
  return [...lines, ...(drawing.caption === undefined ? [] : [drawing.caption])].join("\n");
}

/** Colours of the eight dots of each character in a line. */
type Cells = readonly (readonly number[])[];

/** The character with the dots that are set. */
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
    // Spaces with a background colour are kept.
    return before === "" ? letters.join("").trimEnd() : `${letters.join("")}\x1b[0m`;
  };
}

/** The background colour of a character and that of its dots: no colour if there is any, else the most frequent. */
function twoColors(cell: readonly number[]): readonly [behind: number, front: number | undefined] {
  const counts = new Map<number, number>();
  for (const color of cell) counts.set(color, (counts.get(color) ?? 0) + 1);
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || a - b).map(([color]) => color);
  const behind = sorted.includes(NOTHING) ? NOTHING : (sorted[0] as number);
  return [behind, sorted.find((color) => color !== behind)];
}
