import { columns } from "../../columns.ts";
import { plain } from "./plain.ts";

type Rows = readonly (readonly string[])[];

/** Rows of cells from a store as aligned lines, nothing in them that a terminal would obey. */
export const table = (rows: Rows): readonly string[] => columns(rows.map((row) => row.map(plain)));

/** The same below headings, which `dim` makes fainter. */
export function headedTable(
  headings: readonly string[],
  rows: Rows,
  { dim }: { readonly dim: (text: string) => string },
): readonly string[] {
  const [first = "", ...others] = table([headings, ...rows]);
  return [dim(first), ...others];
}
