import { type Bar, type PeerName, peerLabels } from "./figure.ts";
import type { Report, Result } from "./report.ts";
import { digits, median } from "./statistics.ts";

export interface Verdict {
  readonly bar: string;
  /** What was measured, in the bar's terms: a ratio or the figure itself. */
  readonly measured: string;
  readonly outcome: "holds" | "falls short" | "not measured";
}

/** Whether a figure reaches its bars; one verdict for each. */
export const judge = (result: Result): readonly Verdict[] => result.bars.map((bar) => judgeBar(bar, result));

function judgeBar(bar: Bar, result: Result): Verdict {
  const text = barText(bar, result.unit);
  if (!result.ours) return { bar: text, measured: "", outcome: "not measured" };
  const ours = median(result.ours);
  if (bar.kind === "absolute")
    return { bar: text, measured: "", outcome: ours <= bar.atMost ? "holds" : "falls short" };
  const theirs = result.peers[bar.against];
  if (!theirs) return { bar: text, measured: "", outcome: "not measured" };
  const ratio = ours / median(theirs);
  const holds = "atMost" in bar ? ratio <= bar.atMost : ratio < bar.below;
  return {
    bar: text,
    measured: `${digits(ratio)} x ${peerLabels[bar.against]}`,
    outcome: holds ? "holds" : "falls short",
  };
}

function barText(bar: Bar, unit: string): string {
  if (bar.kind === "absolute")
    return `at most ${bar.atMost} ${unit}${bar.asked === undefined ? "" : ` (${bar.asked})`}`;
  return "atMost" in bar
    ? `at most ${bar.atMost} x ${peerLabels[bar.against]}`
    : bar.below === 1
      ? `faster than ${peerLabels[bar.against]}`
      : `below ${bar.below} x ${peerLabels[bar.against]}`;
}

/** The peers that a report has numbers of, in the order of columns. */
export function peersIn({ results }: Report): readonly PeerName[] {
  const names = Object.keys(peerLabels) as PeerName[];
  return names.filter((name) => results.some((result) => result.peers[name]));
}

/** Whether every bar of a run was measured and holds. */
export const allHold = (report: Report): boolean =>
  report.results.every((result) => judge(result).every(({ outcome }) => outcome === "holds"));
