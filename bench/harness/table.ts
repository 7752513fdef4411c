import { type PeerName, peerLabels } from "./figure.ts";
import { judge, middleOf, peersIn } from "./judge.ts";
import type { Report, Result } from "./report.ts";
import { deviation, digits } from "./statistics.ts";

/** The rows of a report's table, header first: one for each bar of each figure. */
export function tableRows(report: Report): readonly (readonly string[])[] {
  const peers = peersIn(report);
  const header = ["figure", "ours", ...peers.map((name) => peerLabels[name]), "measured", "bar", ""];
  return [header, ...report.results.flatMap((result) => figureRows(result, peers))];
}

function figureRows(result: Result, peers: readonly PeerName[]): readonly (readonly string[])[] {
  const { name, engine, unit, ours, problems } = result;
  const first = [
    `${engine}: ${name}`,
    ours ? `${spread(result, ours)} ${unit}` : (problems.ours ?? ""),
    ...peers.map((peer) => {
      const samples = result.peers[peer];
      return samples ? `${spread(result, samples)} ${unit}` : "";
    }),
  ];
  const verdicts = judge(result);
  if (verdicts.length === 0) return [[...first, "", "", ""]];
  return verdicts.map(({ bar, measured, outcome }, i) => [
    ...(i === 0 ? first : first.map(() => "")),
    measured,
    bar,
    outcome,
  ]);
}

/** The median, or the mean and the standard deviation; and in brackets the least and the most. */
function spread(result: Result, samples: readonly number[]): string {
  const middle = digits(middleOf(result, samples));
  if (samples.length < 2) return middle;
  const around = result.statistic === "mean" ? ` ± ${digits(deviation(samples))}` : "";
  return `${middle}${around} (${digits(Math.min(...samples))}-${digits(Math.max(...samples))})`;
}

/** Columns aligned for a terminal. */
export function plainTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

export function markdownTable([header = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n");
}

/** What went wrong, a line each. */
export const problemLines = ({ results }: Report): readonly string[] =>
  results.flatMap(({ name, engine, problems }) =>
    Object.entries(problems).map(([who, what]) => `${engine}: ${name}: ${who}: ${what}`),
  );
