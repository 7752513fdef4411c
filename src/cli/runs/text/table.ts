import { columns } from "../../columns.ts";

/** Rows of cells as aligned lines below headings, which `dim` makes fainter. */
export function headedTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { dim }: { readonly dim: (text: string) => string },
): readonly string[] {
  const [first = "", ...others] = columns([headings, ...rows]);
  return [dim(first), ...others];
}
