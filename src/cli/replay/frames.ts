import { cut, printable } from "../../core/index.ts";
import type { Drawing } from "../../rl/index.ts";

/** How wide text is where nothing says so. */
const COLUMNS = 80;

/** What turns a drawing into text: `asText`. */
export type TextOf = (
  drawing: Drawing,
  options: { readonly columns: number; readonly rows?: number; readonly color: boolean },
) => string;

/** The room that pictures have; unknown where nobody sees them at once. */
export interface Room {
  readonly columns: number | undefined;
  readonly rows: number | undefined;
  readonly color: boolean;
}

/**
 * Drawings as text, as wide as was asked for or as the terminal is, and never higher than it: what does not fit would be
 * scrolled away, and the next picture drawn in the wrong place.
 */
export function textFrames(
  drawings: readonly Drawing[],
  asked: number | undefined,
  { columns: most = Number.POSITIVE_INFINITY, rows, color }: Room,
  textOf: TextOf,
): readonly string[] {
  const columns = Math.min(asked ?? (Number.isFinite(most) ? most : COLUMNS), most);
  // A line for the caption, and one for the cursor.
  const height = rows !== undefined && { rows: Math.max(1, rows - 2) };
  return drawings.map(({ caption, ...drawing }) => {
    const said = caption !== undefined && { caption: cut(printable(caption), columns, "...") };
    return textOf({ ...drawing, ...said }, { columns, ...height, color });
  });
}
