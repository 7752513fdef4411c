import type { Clock } from "../../../core/index.ts";
import { printableLines } from "../../../core/index.ts";
import type { RunProgress } from "../../run-info.ts";
import type { Sink } from "../sink.ts";
import { barRow } from "./bar.ts";
import type { chooser } from "./choice.ts";
import { followWindows } from "./entry.ts";
import type { Outlet } from "./outlet.ts";
import { endingRow, openingRow } from "./sentences.ts";
import { painted, type Row, rowWidth, type Style } from "./style.ts";
import { firstWidths, tableRows } from "./table.ts";

/** What a display does of a sink's work: all but its choices. */
export type Display = Required<Pick<Sink, "open" | "write" | "progress" | "message" | "close">>;

export interface DisplayParts {
  readonly outlet: Outlet;
  readonly style: Style;
  readonly choose: ReturnType<typeof chooser>;
}

const shortestMs = 100;

/**
 * Lines that scroll up, and under them one that is drawn again and again. Nothing but that line is ever erased, so that
 * whatever stood in the terminal before is safe.
 */
export function terminalDisplay(
  parts: DisplayParts & { readonly clock: Clock; readonly columns: () => number },
): Display {
  const { outlet, style, choose, clock, columns } = parts;
  const follow = followWindows();
  let widths = firstWidths();
  let tableColumns = columns();
  let latest: RunProgress | undefined;
  let opened = false;
  let drawnAt = Number.NEGATIVE_INFINITY;
  /** Columns that the bar takes now. */
  let drawn = 0;

  /** Back to where the bar begins. A terminal that has become narrower has broken it into several lines. */
  const back = (): string => {
    const up = Math.ceil(drawn / columns()) - 1;
    return up > 0 ? `\r\x1b[${up}A\x1b[J` : "\r";
  };
  const drawing = (): string => {
    if (latest === undefined) return "";
    // The last column stays free: a terminal that has filled it may be in the next line already.
    const row = barRow(latest, columns() - 1, style);
    drawnAt = clock.now();
    drawn = rowWidth(row);
    return painted(row, style);
  };
  const above = (rows: readonly Row[]): undefined | Promise<void> => {
    const start = drawn > 0 ? `${back()}\x1b[J` : "";
    drawn = 0;
    return outlet.write(start + rows.map((row) => `${painted(row, style)}\n`).join("") + drawing());
  };

  return {
    open(run) {
      if (opened) return;
      opened = true;
      return above([openingRow(run)]);
    },
    write(records) {
      if (records.length === 0) return;
      if (columns() !== tableColumns) widths = firstWidths();
      tableColumns = columns();
      const rows = follow(records).flatMap((window) =>
        tableRows(window, choose(window.entries), tableColumns - 1, style, widths),
      );
      return above(rows);
    },
    progress(progress) {
      latest = progress;
      if (clock.now() - drawnAt < shortestMs || outlet.blocked) return;
      const start = drawn > 0 ? back() : "";
      outlet.write(`${start}${drawing()}\x1b[K`);
    },
    message(text) {
      above(printableLines(text).map((line) => [{ text: line }]));
    },
    close(ending) {
      latest = undefined;
      above([endingRow(ending)]);
      return outlet.close();
    },
  };
}
