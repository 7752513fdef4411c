import { padEnd, printable, widthOf } from "../core/index.ts";

/**
 * Rows of cells as lines whose columns are aligned, two spaces apart. Cells come from anywhere: nothing in them moves
 * the cursor, and those longer than `longest` characters are cut.
 */
export function columns(rows: readonly (readonly string[])[], longest?: number): readonly string[] {
  const cells = rows.map((row) => row.map((cell) => printable(cell, longest)));
  const widths: number[] = [];
  for (const row of cells)
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, widthOf(cell));
    });
  return cells.map((row) =>
    row
      .map((cell, i) => padEnd(cell, widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
