import type { Member, RunStatus } from "../../cluster/index.ts";
import { amountText, countText, cut, numberText, printable, tableLines } from "../../core/index.ts";
import type { Style } from "../terminal.ts";

/** Each run in a line, and its members in a table below. */
export function statusLines(
  address: string,
  runs: readonly RunStatus[],
  { colors, width }: Pick<Style, "colors" | "width">,
): readonly string[] {
  if (runs.length === 0) return [printable(`${address} knows no runs: start a trainer`, 1000)];
  return runs.flatMap((run) => {
    const [first, ...others] = [summaryText(run), ...memberLines(run.members)].map((line) =>
      cut(line, width, "..."),
    );
    const [heading, ...rows] = others;
    return [colors.bold(first ?? ""), ...(heading === undefined ? [] : [colors.dim(heading)]), ...rows];
  });
}

/** `maze: running; 1 trainer, 3 workers; 12.4 rollouts a second; at most 2 updates behind; 3 of 8 rollouts wait`. */
export function summaryText({ run, state, members }: RunStatus): string {
  const counts = kinds.flatMap((kind) => {
    const count = members.filter((member) => member.kind === kind).length;
    return count === 0 ? [] : [amountText(count, `${kind}s`)];
  });
  const workers = members.filter(({ kind }) => kind === "worker");
  const rates = numbersOf(workers, "rate");
  const behind = numbersOf(members, "staleness");
  const [queued] = numbersOf(members, "queued");
  const [jobs] = numbersOf(members, "jobs");
  const parts = [
    state,
    counts.length > 0 ? counts.join(", ") : "nobody is there",
    rates.length > 0 ? `${rateText(rates.reduce((a, b) => a + b, 0))} rollouts a second` : "",
    behind.length > 0 ? `at most ${amountText(Math.max(...behind), "updates")} behind` : "",
    queued === undefined ? "" : `${queuedText(queued, numbersOf(members, "capacity")[0])} rollouts wait`,
    jobs === undefined ? "" : `${amountText(jobs, "jobs")} of evaluators`,
  ];
  return printable(`${run}: ${parts.filter((part) => part !== "").join("; ")}`, 1000);
}

const kinds = ["trainer", "rank", "worker", "evaluator"] as const satisfies readonly Member["kind"][];

const numbersOf = (members: readonly Member[], name: string): readonly number[] =>
  members.flatMap(({ numbers }) => numbers[name] ?? []);

const rateText = (rate: number): string => numberText(rate, { digits: 3 });
const queuedText = (queued: number, capacity: number | undefined): string =>
  capacity === undefined ? countText(queued) : `${countText(queued)} of ${countText(capacity)}`;

/** What a member may say in numbers, and its column. */
const columns: readonly (readonly [heading: string, text: (numbers: Member["numbers"]) => string])[] = [
  ["rollouts", ({ rollouts }) => (rollouts === undefined ? "" : countText(rollouts))],
  ["a second", ({ rate }) => (rate === undefined ? "" : rateText(rate))],
  ["weights", ({ weightId }) => (weightId === undefined ? "" : String(weightId))],
  ["behind", ({ staleness }) => (staleness === undefined ? "" : countText(staleness))],
  ["waiting", ({ queued, capacity }) => (queued === undefined ? "" : queuedText(queued, capacity))],
  ["jobs", ({ jobs }) => (jobs === undefined ? "" : countText(jobs))],
];

/** A table of members, with the columns that any of them fills. */
function memberLines(members: readonly Member[]): readonly string[] {
  if (members.length === 0) return [];
  const shown = columns.filter(([, text]) => members.some(({ numbers }) => text(numbers) !== ""));
  const order = [...members].sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
  const headings = ["  who", "name", "host", "process", "doing", ...shown.map(([heading]) => heading)];
  const rows = order.map(({ kind, name, host, pid, doing, numbers }) => [
    `  ${kind}`,
    name,
    host,
    String(pid),
    doing,
    ...shown.map(([, text]) => text(numbers)),
  ]);
  return tableLines([headings, ...rows], { right: [3, ...shown.map((_, i) => 5 + i)] });
}
