import pc from "picocolors";
import { put, type Tensor } from "../src/index.ts";

/** A drawing's size in characters. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** The plane from -EDGE to EDGE in both directions is drawn. */
const EDGE = 1.15;

const styles = pc.isColorSupported
  ? {
      regions: [pc.bgBlue(" "), pc.bgYellow(" ")],
      points: [pc.bgBlue(pc.whiteBright("●")), pc.bgYellow(pc.black("●"))],
      strays: [pc.bgYellow(pc.blue("●")), pc.bgBlue(pc.yellowBright("●"))],
    }
  : { regions: [" ", "."], points: ["o", "x"], strays: ["O", "X"] };

/** The middle of every character of the drawing, row by row. */
export function gridPoints({ columns, rows }: Size): Tensor {
  const points = new Float32Array(2 * columns * rows);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const at = 2 * (row * columns + column);
      points[at] = ((2 * column + 1) / columns - 1) * EDGE;
      points[at + 1] = (1 - (2 * row + 1) / rows) * EDGE;
    }
  return put(points, { shape: [columns * rows, 2] });
}

/** The regions of two classes with the points of both over them; points on the wrong side stand out. */
export function drawRegions(
  { columns, rows }: Size,
  regions: ArrayLike<number>,
  points: ArrayLike<number>,
  classes: ArrayLike<number>,
): string {
  const drawing = Array.from(regions, (region) => styles.regions[region] as string);
  for (let i = 0; i < classes.length; i++) {
    const column = Math.floor((((points[2 * i] as number) / EDGE + 1) / 2) * columns);
    const row = Math.floor(((1 - (points[2 * i + 1] as number) / EDGE) / 2) * rows);
    if (column < 0 || column >= columns || row < 0 || row >= rows) continue;
    const at = row * columns + column;
    const own = classes[i] as number;
    drawing[at] = (regions[at] === own ? styles.points : styles.strays)[own] as string;
  }
  return Array.from({ length: rows }, (_, row) =>
    drawing.slice(row * columns, (row + 1) * columns).join(""),
  ).join("\n");
}
