import { type Bar, type Limit, type PeerName, peerLabels } from "./figure.ts";
import type { Report, Result } from "./report.ts";
import { deviation, digits, mean, median } from "./statistics.ts";

export interface Verdict {
  readonly bar: string;
  /** What was measured, in the bar's terms: a ratio or the figure itself. */
  readonly measured: string;
  readonly outcome: "holds" | "falls short" | "not measured";
}

/** Whether a figure reaches its bars; one verdict for each. */
export const judge = (result: Result): readonly Verdict[] => result.bars.map((bar) => judgeBar(bar, result));

/** The number that stands for a result's samples. */
export const middleOf = ({ statistic }: Result, samples: readonly number[]): number =>
  (statistic === "mean" ? mean : median)(samples);

function judgeBar(bar: Bar, result: Result): Verdict {
  const text = barText(bar, result.unit);
  const { ours, peers } = result;
  if (!ours) return { bar: text, measured: "", outcome: "not measured" };
  if (bar.kind === "absolute") return verdict(text, "", within(bar, middleOf(result, ours)));
  const theirs = peers[bar.against];
  if (!theirs) return { bar: text, measured: "", outcome: "not measured" };
  if (bar.kind === "spread") {
    const apart = middleOf(result, ours) - mean(theirs);
    const measured = `${apart < 0 ? "-" : "+"}${digits(Math.abs(apart))} of ${digits(deviation(theirs))}`;
    return verdict(text, measured, Math.abs(apart) <= deviation(theirs));
  }
  // The worst is the least where more is better.
  const worst = "atLeast" in bar || "above" in bar ? Math.min : Math.max;
  const ratio = (bar.worst ? worst(...ours) : middleOf(result, ours)) / middleOf(result, theirs);
  return verdict(text, `${digits(ratio)} x ${peerLabels[bar.against]}`, within(bar, ratio));
}

const verdict = (bar: string, measured: string, holds: boolean): Verdict => {
  return { bar, measured, outcome: holds ? "holds" : "falls short" };
};

function within(limit: Limit, value: number): boolean {
  if ("atMost" in limit) return value <= limit.atMost;
  if ("below" in limit) return value < limit.below;
  return "atLeast" in limit ? value >= limit.atLeast : value > limit.above;
}

function barText(bar: Bar, unit: string): string {
  if (bar.kind === "spread") return `within a standard deviation of ${peerLabels[bar.against]}`;
  if (bar.kind === "absolute")
    return `${limitText(bar)} ${unit}${bar.asked === undefined ? "" : ` (${bar.asked})`}`;
  const peer = peerLabels[bar.against];
  if ("below" in bar && bar.below === 1) return `faster than ${peer}`;
  return `${bar.worst ? "the worst " : ""}${limitText(bar)} x ${peer}`;
}

function limitText(limit: Limit): string {
  if ("atMost" in limit) return `at most ${limit.atMost}`;
  if ("below" in limit) return `below ${limit.below}`;
  return "atLeast" in limit ? `at least ${limit.atLeast}` : `above ${limit.above}`;
}

/** The peers that a report has numbers of, in the order of columns. */
export function peersIn({ results }: Report): readonly PeerName[] {
  const names = Object.keys(peerLabels) as PeerName[];
  return names.filter((name) => results.some((result) => result.peers[name]));
}

/** Whether every bar of a run was measured and holds. */
export const allHold = (report: Report): boolean =>
  report.results.every((result) => judge(result).every(({ outcome }) => outcome === "holds"));
