import { printable } from "../../../core/index.ts";
import type { Counters } from "../../../schedule/index.ts";
import type { RunEnding, RunInfo } from "../../run-info.ts";
import { amountOf, secondsText } from "./numbers.ts";
import type { Paint, Row } from "./style.ts";

/** The first line of a run: which it is, and where it goes on if it is not new. */
export function openingRow({ name, id, resumedAt }: RunInfo): Row {
  const called = printable(name);
  const which = called === id || called === "" ? "" : ` (${printable(id)})`;
  const on = resumedAt === undefined ? "" : `, resumed after ${countersText(resumedAt)}`;
  return [{ text: "run " }, { text: called || printable(id), paint: "bold" }, { text: which + on }];
}

const paints: Readonly<Record<RunEnding["outcome"], Paint>> = {
  completed: "green",
  stopped: "yellow",
  interrupted: "yellow",
  failed: "alarm",
};

/** The last line of a run: how it ended, how far it came, how long it took. */
export function endingRow({ outcome, reason, counters }: RunEnding): Row {
  const why = reason === undefined || reason === outcome ? "" : ` (${printable(reason, 1000)})`;
  return [
    { text: outcome, paint: paints[outcome] },
    { text: `${why}: ${countersText(counters)} in ${secondsText(counters.seconds)}` },
  ];
}

/** How far a run has come; what says the same as `steps`, or is nothing at all, is left out. */
function countersText(counters: Counters): string {
  const { epoch: _, epochs, steps, seconds: __, ...others } = counters;
  const rest = Object.entries(others).filter(([, count]) => count !== 0 && count !== steps);
  return [
    ...(epochs > 0 ? [amountOf(epochs, "epochs")] : []),
    amountOf(steps, "steps"),
    ...rest.map(([unit, count]) => amountOf(count, printable(unit))),
  ].join(", ");
}
