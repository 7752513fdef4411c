import { cut, printable } from "../../../core/index.ts";
import type { RunProgress } from "../../run-info.ts";
import type { Chosen } from "./choice.ts";
import { type Entry, type Shown, valueText } from "./entry.ts";
import { oneOf, rateText } from "./numbers.ts";
import type { Row, Span } from "./style.ts";

const longest = 200;

/**
 * A window in one line: `step 1000  train/loss 0.1234  train/accuracy 0.98  12.3k steps/s`. Parts are two spaces
 * apart, so that a program can take it to pieces.
 */
export function plainLine(window: Shown, chosen: Chosen, progress: RunProgress | undefined): Row {
  const parts: Span[][] = [
    [{ text: `${oneOf(printable(window.axis))} ${window.step}`, paint: "bold" }],
    ...chosen.entries.map(partOf),
  ];
  if (chosen.more > 0) parts.push([{ text: `and ${chosen.more} more` }]);
  if (progress?.rate !== undefined) parts.push([{ text: `${rateText(progress.rate)} steps/s` }]);
  return parts.flatMap((part, i) => (i === 0 ? part : [{ text: "  " }, ...part]));
}

function partOf({ record, key, unit, alarm, note }: Entry): Span[] {
  const value = cut(valueText(record, { zeros: false }), longest, "...") + (unit === "" ? "" : ` ${unit}`);
  const where = note === undefined ? "" : ` (${note})`;
  if (alarm === undefined) return [{ text: `${key} ${value}${where}` }];
  return [{ text: `${key} ` }, { text: `${value} (! ${alarm})`, paint: "alarm" }, { text: where }];
}
