import { cut } from "../../../core/index.ts";
import { columns } from "../../columns.ts";
import { outcomeText } from "../outcome.ts";
import type { RunSummary } from "../summary.ts";
import { amountText } from "../text/numbers.ts";
import type { Style } from "../text/style.ts";
import { dateText, durationText } from "../text/times.ts";

/** What there is to say of a run before its metrics: each fact with its name. */
export function factLines(run: RunSummary, { width, colors }: Style): readonly string[] {
  const counted = Object.entries(run.counters).filter(
    ([unit, count]) => count > 0 && unit !== "epoch" && unit !== "seconds",
  );
  const all: readonly (readonly [string, string])[] = [
    ["run", run.id],
    ["outcome", `${outcomeText(run)}${run.reason ? `: ${run.reason.split("\n")[0]}` : ""}`],
    ["started", dateText(run.startedAt)],
    ["duration", durationText(run.duration)],
    ["resumed", run.resumes === 0 ? "" : run.resumes === 1 ? "once" : `${run.resumes} times`],
    ["counters", counted.map(([unit, count]) => amountText(count, unit)).join(", ")],
    ["config", configText(run.config, Math.max(40, width - 14))],
  ];
  const { green, red, yellow } = colors;
  const running = run.silent ? yellow : green;
  const colored = { running, completed: green, stopped: yellow, interrupted: yellow, failed: red }[
    run.outcome
  ];
  return columns(
    all.filter(([, text]) => text !== ""),
    Math.max(200, width),
  ).map((line) => (line.startsWith("outcome ") ? colored(line) : line));
}

/** Settings in one line: `lr 0.001, net.layers [64,64]`. */
function configText(config: RunSummary["config"], length: number): string {
  const leaves = (value: typeof config, path: string): readonly string[] =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([name, part]) => leaves(part, path === "" ? name : `${path}.${name}`))
      : [`${path} ${typeof value === "string" ? value : JSON.stringify(value)}`.trim()];
  return config === null ? "" : cut(leaves(config, "").join(", "), length, "...");
}
