import { onNode } from "./node.ts";

// Controls, invisible formatting (which can turn the direction of a line), separators of lines, halves of characters.
// The joiners that letters and emoji are composed with stay.
const notPrintable = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const wide =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303e\uff01-\uff60]/u;
const noWidth = /[\p{Mn}\p{Me}\u200c\u200d]/u;
const plain = /^[\x20-\x7e]*$/;
const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The most characters of a name or a value that are printed, and of a line of prose. */
const longestName = 200;
const longestLine = 2000;

/**
 * A text from outside as a terminal may have it: one line, what would move the cursor or ring the bell written as an
 * escape, cut where it is longer than `longest` characters. Every text that people bring (names, values, paths,
 * messages of other errors) goes through this or {@link printableText} before it is printed.
 */
export function printable(text: string, longest = longestName): string {
  if (text.length <= longest) return escapedText(text);
  return `${escapedText(beginning(text, longest))}... (${text.length} characters)`;
}

/** The lines of a text, each of them printable. Long ones lose their middle. */
export function printableLines(text: string, longest = longestLine): readonly string[] {
  return text.split(/\r\n|\n/).map((line) => {
    if (line.length <= longest) return escapedText(line);
    const end = escapedText(line.slice(-Math.floor(longest / 4)));
    const start = escapedText(beginning(line, longest - Math.floor(longest / 4)));
    return `${start}... (${line.length} characters) ...${end}`;
  });
}

/** A message of several lines, each of them printable. */
export const printableText = (text: string): string => printableLines(text).join("\n");

function escapedText(text: string): string {
  return plain.test(text) ? text : text.replace(notPrintable, (found) => short[found] ?? escaped(found));
}

/** The first characters, the last of them whole. */
const beginning = (text: string, length: number): string =>
  text.slice(0, length).replace(/[\ud800-\udbff]$/, "");

/** Number of terminal columns that a printable text takes. */
export function widthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

/** The beginning of a text, no wider than `width`; where something is left out, it ends in `mark`. */
export function cut(text: string, width: number, mark: string): string {
  if (widthOf(text) <= width) return text;
  return takeWhile(text, width - mark.length) + mark.slice(0, Math.max(0, width));
}

/** As `cut`, with the middle left out: names that begin alike often end differently. */
export function cutMiddle(text: string, width: number, mark: string): string {
  if (widthOf(text) <= width) return text;
  const end = Math.floor((width - mark.length) / 2);
  if (end < 2) return cut(text, width, mark);
  const reversed = takeWhile([...text].reverse().join(""), end);
  const tail = [...reversed].reverse().join("");
  return takeWhile(text, width - mark.length - widthOf(tail)) + mark + tail;
}

/** A text with spaces up to `width`, after it or before it. */
export const padEnd = (text: string, width: number): string => text + spaces(width - widthOf(text));
export const padStart = (text: string, width: number): string => spaces(width - widthOf(text)) + text;

function takeWhile(text: string, width: number): string {
  let taken = "";
  let left = width;
  for (const character of text) {
    left -= columnsOf(character);
    if (left < 0) break;
    taken += character;
  }
  return taken;
}

const spaces = (count: number): string => " ".repeat(Math.max(0, count));

function columnsOf(character: string): number {
  if (noWidth.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

/** Warns as Node's own warnings do, or on the console of a browser. */
export function emitWarning(text: string, code: string): void {
  if (onNode()) process.emitWarning(text, { code });
  // biome-ignore lint/suspicious/noConsole: a browser has nothing else.
  else console.warn(text);
}

/** Writes a line to standard error, where warnings go by default, or to the console of a browser. */
export function toStandardError(text: string): void {
  if (onNode()) process.stderr.write(`${text}\n`);
  // biome-ignore lint/suspicious/noConsole: a browser has nothing else.
  else console.error(text);
}
