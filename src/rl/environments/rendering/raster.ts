import type { Drawing, Shape } from "../environment.ts";
import { colorOf } from "./colors.ts";

type Point = readonly [x: number, y: number];

/** Colours by number: what an indexed image is made of. */
export class Palette {
  readonly colors: number[] = [];
  readonly #indices = new Map<number, number>();

  /** At most 256: what comes later takes the nearest of them. */
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

/** A drawing as pixels, one byte each: an index into the palette. `scale` is pixels a unit. */
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
      // Thinner than a pixel would have holes.
      const thick = Math.max(1, (shape.kind === "line" ? (shape.width ?? 0) : 0) * scale);
      for (let i = 1; i < points.length; i++)
        fill(pixels, width, height, thickened(points[i - 1] as Point, points[i] as Point, thick), color);
    }
  }
  return pixels;
}

/** The outlines of what is filled. */
function outlines(shape: Shape): readonly (readonly Point[])[] {
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

/** A stretch of a line as a rectangle that is turned. */
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

/** Fills the pixels whose middles lie inside, by the number of times the outline goes round them. */
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

/** Where an outline crosses a height, from left to right, and which way. */
function crossingsAt(outline: readonly Point[], y: number): readonly Point[] {
  const crossings: Point[] = [];
  outline.forEach(([x0, y0], i) => {
    const [x1, y1] = outline[(i + 1) % outline.length] as Point;
    if (y0 <= y === y1 <= y) return;
    crossings.push([x0 + ((y - y0) / (y1 - y0)) * (x1 - x0), y1 > y0 ? 1 : -1]);
  });
  return crossings.sort((a, b) => a[0] - b[0]);
}
