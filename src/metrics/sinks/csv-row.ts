import type { WholeLine } from "./whole-lines.ts";

/** A field as RFC 4180 has it: in quotes where it holds a quote, a comma or the end of a line. */
export const csvField = (text: string): string => (/[",\r\n]/.test(text) ? csvQuoted(text) : text);

/** A field in quotes, whatever it holds. */
export const csvQuoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/** The fields of a row, without the end of its line. */
export function csvFields(row: string): string[] {
  const fields: string[] = [];
  for (let at = 0; at <= row.length; at++) {
    if (row[at] !== '"') {
      const end = row.indexOf(",", at);
      fields.push(row.slice(at, end < 0 ? row.length : end));
      at = end < 0 ? row.length : end;
      continue;
    }
    let text = "";
    for (at++; at < row.length; at++) {
      if (row[at] === '"' && row[++at] !== '"') break;
      text += row[at];
    }
    fields.push(text);
  }
  return fields;
}

const quotes = (text: string): number => text.split('"').length - 1;

/** The rows that lines make up: a row goes on in the next line as long as a quote is open. */
export function* csvRows(lines: Iterable<WholeLine>): Generator<WholeLine, void, undefined> {
  let begun: string[] = [];
  let open = false;
  for (const { text, next } of lines) {
    begun.push(text);
    if (quotes(text) % 2 === 1) open = !open;
    if (open) continue;
    yield { text: begun.join("\n"), next };
    begun = [];
  }
}
