import { printableLines } from "../../../core/index.ts";
import type { RunProgress } from "../../run-info.ts";
import { followWindows } from "./entry.ts";
import { plainLine } from "./plain-line.ts";
import { endingRow, openingRow } from "./sentences.ts";
import { painted, type Row } from "./style.ts";
import type { Display, DisplayParts } from "./terminal.ts";

/** Lines and nothing else, for files, pipes and terminals whose cursor does not move. */
export function plainDisplay({ outlet, style, choose }: DisplayParts): Display {
  const follow = followWindows();
  let latest: RunProgress | undefined;
  let opened = false;
  const print = (...rows: readonly Row[]): undefined | Promise<void> =>
    outlet.write(rows.map((row) => `${painted(row, style)}\n`).join(""));

  return {
    open(run) {
      if (opened) return;
      opened = true;
      return print(openingRow(run));
    },
    write(records) {
      const lines = follow(records).flatMap((window) => {
        const chosen = choose(window.entries);
        return chosen.entries.length === 0 && chosen.more === 0 ? [] : [plainLine(window, chosen, latest)];
      });
      return lines.length === 0 ? undefined : print(...lines);
    },
    progress(progress) {
      latest = progress;
    },
    message(text) {
      print(...printableLines(text).map((line) => [{ text: line }]));
    },
    close(ending) {
      print(endingRow(ending));
      return outlet.close();
    },
  };
}
