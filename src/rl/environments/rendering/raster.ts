import { EspalierError } from "../../../core/index.ts";
import type { Drawing, DrawnShape } from "../environment.ts";

type Point = readonly [x: number, y: number];

/** The colours of an indexed image. */
export class Palette {
  readonly colors: number[] = [];
  readonly #indices = new Map<number, number>();

  /** The index of a colour. There are at most 256: later colours get the nearest one. */
  indexOf(color: string): number {
    const rgb = colorOf(color);
    const known = this.#indices.get(rgb);
    if (known !== undefined) return known;
    const index = this.colors.length < 256 ? this.colors.push(rgb) - 1 : this.#nearest(rgb);
    this.#indices.set(rgb, index);
    return index;
  }

  #nearest(rgb: number): number {
    const apart = (a: number, b: number): number =>
      [16, 8, 0].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0);
    return this.colors.reduce(
      (best, color, i) => (apart(color, rgb) < apart(this.colors[best] as number, rgb) ? i : best),
      0,
    );
  }
}

/** Draws pixels of one byte each, an index into the palette. `scale` is pixels per unit. */
export function rasterise(
  drawing: Drawing,
  options: {
    readonly width: number;
    readonly height: number;
    readonly scale: number;
    readonly palette: Palette;
    readonly background: string;
  },
): Uint8Array {
  const { width, height, scale, palette, background } = options;
  const pixels = new Uint8Array(width * height).fill(palette.indexOf(background));
  for (const shape of drawing.shapes) {
    const color = palette.indexOf(shape.color);
    const scaled = ([x, y]: Point): Point => [x * scale, y * scale];
    for (const part of outlines(shape)) fill(pixels, width, height, part.map(scaled), color);
    if (shape.kind === "line" || (shape.kind === "path" && !shape.filled)) {
      const points = (shape.kind === "line" ? [shape.from, shape.to] : shape.points).map(scaled);
      // A thinner line would have holes.
      const thick = Math.max(1, (shape.kind === "line" ? (shape.width ?? 0) : 0) * scale);
      for (let i = 1; i < points.length; i++)
        fill(pixels, width, height, thickened(points[i - 1] as Point, points[i] as Point, thick), color);
    }
  }
  return pixels;
}

/** The outlines of a filled shape. */
function outlines(shape: DrawnShape): readonly (readonly Point[])[] {
  switch (shape.kind) {
    case "rectangle": {
      const [[x, y], [w, h]] = [shape.at, shape.size];
      return [
        [
          [x, y],
          [x + w, y],
          [x + w, y + h],
          [x, y + h],
        ],
      ];
    }
    case "circle": {
      const [x, y] = shape.at;
      const corner = (_: unknown, i: number): Point => [
        x + shape.radius * Math.cos((i * Math.PI) / 32),
        y + shape.radius * Math.sin((i * Math.PI) / 32),
      ];
      return [Array.from({ length: 64 }, corner)];
    }
    case "path":
      return shape.filled ? [shape.points] : [];
    case "line":
      return [];
  }
}

/** The rectangle of a thick line. */
function thickened(from: Point, to: Point, thick: number): readonly Point[] {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(dx, dy);
  if (length === 0) return [];
  const [ox, oy] = [(-dy / length) * (thick / 2), (dx / length) * (thick / 2)];
  return [
    [from[0] + ox, from[1] + oy],
    [to[0] + ox, to[1] + oy],
    [to[0] - ox, to[1] - oy],
    [from[0] - ox, from[1] - oy],
  ];
}

/** Fills the pixels whose centres lie inside, by the winding number of the outline. */
function fill(
  pixels: Uint8Array,
  width: number,
  height: number,
  outline: readonly Point[],
  color: number,
): void {
  if (outline.length < 3 || !outline.every(([x, y]) => Number.isFinite(x) && Number.isFinite(y))) return;
  const ys = outline.map(([, y]) => y);
  const first = Math.max(0, Math.floor(Math.min(...ys) - 0.5));
  const last = Math.min(height - 1, Math.ceil(Math.max(...ys) - 0.5));
  for (let row = first; row <= last; row++) {
    const crossings = crossingsAt(outline, row + 0.5);
    let rounds = 0;
    for (let i = 0; i + 1 < crossings.length; i++) {
      const [x, turn] = crossings[i] as Point;
      rounds += turn;
      if (rounds === 0) continue;
      const from = Math.max(0, Math.ceil(x - 0.5));
      const to = Math.min(width, Math.ceil((crossings[i + 1] as Point)[0] - 0.5));
      if (to > from) pixels.fill(color, row * width + from, row * width + to);
    }
  }
}

/** The crossings of an outline with a horizontal line, from left to right, with their direction. */
function crossingsAt(outline: readonly Point[], y: number): readonly Point[] {
  const crossings: Point[] = [];
  outline.forEach(([x0, y0], i) => {
    const [x1, y1] = outline[(i + 1) % outline.length] as Point;
    if (y0 <= y === y1 <= y) return;
    crossings.push([x0 + ((y - y0) / (y1 - y0)) * (x1 - x0), y1 > y0 ? 1 : -1]);
  });
  return crossings.sort((a, b) => a[0] - b[0]);
}

/** CSS's names of colours. */
const NAMES = `
  aliceblue f0f8ff, antiquewhite faebd7, aqua 00ffff, aquamarine 7fffd4, azure f0ffff, beige f5f5dc,
  bisque ffe4c4, black 000000, blanchedalmond ffebcd, blue 0000ff, blueviolet 8a2be2, brown a52a2a,
  burlywood deb887, cadetblue 5f9ea0, chartreuse 7fff00, chocolate d2691e, coral ff7f50,
  cornflowerblue 6495ed, cornsilk fff8dc, crimson dc143c, cyan 00ffff, darkblue 00008b,
  darkcyan 008b8b, darkgoldenrod b8860b, darkgray a9a9a9, darkgreen 006400, darkgrey a9a9a9,
  darkkhaki bdb76b, darkmagenta 8b008b, darkolivegreen 556b2f, darkorange ff8c00, darkorchid 9932cc,
  darkred 8b0000, darksalmon e9967a, darkseagreen 8fbc8f, darkslateblue 483d8b, darkslategray 2f4f4f,
  darkslategrey 2f4f4f, darkturquoise 00ced1, darkviolet 9400d3, deeppink ff1493, deepskyblue 00bfff,
  dimgray 696969, dimgrey 696969, dodgerblue 1e90ff, firebrick b22222, floralwhite fffaf0,
  forestgreen 228b22, fuchsia ff00ff, gainsboro dcdcdc, ghostwhite f8f8ff, gold ffd700,
  goldenrod daa520, gray 808080, green 008000, greenyellow adff2f, grey 808080, honeydew f0fff0,
  hotpink ff69b4, indianred cd5c5c, indigo 4b0082, ivory fffff0, khaki f0e68c, lavender e6e6fa,
  lavenderblush fff0f5, lawngreen 7cfc00, lemonchiffon fffacd, lightblue add8e6, lightcoral f08080,
  lightcyan e0ffff, lightgoldenrodyellow fafad2, lightgray d3d3d3, lightgreen 90ee90, lightgrey d3d3d3,
  lightpink ffb6c1, lightsalmon ffa07a, lightseagreen 20b2aa, lightskyblue 87cefa,
  lightslategray 778899, lightslategrey 778899, lightsteelblue b0c4de, lightyellow ffffe0, lime 00ff00,
  limegreen 32cd32, linen faf0e6, magenta ff00ff, maroon 800000, mediumaquamarine 66cdaa,
  mediumblue 0000cd, mediumorchid ba55d3, mediumpurple 9370db, mediumseagreen 3cb371,
  mediumslateblue 7b68ee, mediumspringgreen 00fa9a, mediumturquoise 48d1cc, mediumvioletred c71585,
  midnightblue 191970, mintcream f5fffa, mistyrose ffe4e1, moccasin ffe4b5, navajowhite ffdead,
  navy 000080, oldlace fdf5e6, olive 808000, olivedrab 6b8e23, orange ffa500, orangered ff4500,
  orchid da70d6, palegoldenrod eee8aa, palegreen 98fb98, paleturquoise afeeee, palevioletred db7093,
  papayawhip ffefd5, peachpuff ffdab9, peru cd853f, pink ffc0cb, plum dda0dd, powderblue b0e0e6,
  purple 800080, rebeccapurple 663399, red ff0000, rosybrown bc8f8f, royalblue 4169e1,
  saddlebrown 8b4513, salmon fa8072, sandybrown f4a460, seagreen 2e8b57, seashell fff5ee,
  sienna a0522d, silver c0c0c0, skyblue 87ceeb, slateblue 6a5acd, slategray 708090, slategrey 708090,
  snow fffafa, springgreen 00ff7f, steelblue 4682b4, tan d2b48c, teal 008080, thistle d8bfd8,
  tomato ff6347, turquoise 40e0d0, violet ee82ee, wheat f5deb3, white ffffff, whitesmoke f5f5f5,
  yellow ffff00, yellowgreen 9acd32
`;

let named: ReadonlyMap<string, number> | undefined;

/** A colour as 0xrrggbb, from one of CSS's names, `#rgb` or `#rrggbb`. */
export function colorOf(text: string): number {
  const [, short, long] = /^#(?:([0-9a-f]{3})|([0-9a-f]{6}))$/i.exec(text) ?? [];
  if (long !== undefined) return Number.parseInt(long, 16);
  if (short !== undefined) return Number.parseInt(short.replace(/./g, "$&$&"), 16);
  named ??= new Map(
    NAMES.trim()
      .split(",")
      .map((entry) => entry.trim().split(" "))
      .map(([name = "", hex = ""]) => [name, Number.parseInt(hex, 16)]),
  );
  const found = named.get(text.toLowerCase());
  if (found !== undefined) return found;
  throw new EspalierError("COLOR_UNKNOWN", `"${text}" is not a colour`, {
    fix: 'use one of CSS\'s names, or "#rrggbb"',
  });
}
