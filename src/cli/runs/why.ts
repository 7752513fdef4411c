import { didYouMean, EspalierError, printable } from "../../core/index.ts";
import type { DecisionRow, RunRow, StatsStore } from "../../metrics/index.ts";
import { amountText, countText } from "./text/numbers.ts";
import type { Style } from "./text/style.ts";
import { headedTable } from "./text/table.ts";
import { type StepVerdict, verdictsAt } from "./why-at.ts";

/** Why a hook did or did not run in a past run. */
export interface Why {
  /** Stretches of steps over which it was the same for the same reason: all, or those that tell of the step asked for. */
  readonly decisions: readonly DecisionRow[];
  /** What they tell of the step asked for, event by event. */
  readonly verdicts?: readonly StepVerdict[];
  /** Where nothing was ever decided about it: what follows from that. */
  readonly undecided?: { readonly hook: string; readonly calls: number; readonly text: string };
}

/** Reads what was decided about a hook, in all or at a step. */
export async function readWhy(store: StatsStore, asked: string, hook: string, step?: number): Promise<Why> {
  const run = await store.run(asked);
  const all = await store.list(run.id, "decision");
  const decisions = all.filter((row) => row.hook === hook);
  if (decisions.length === 0) return { decisions, undecided: await undecided(store, run, hook, all) };
  if (step === undefined) return { decisions };
  const verdicts = verdictsAt(decisions, step);
  if (verdicts.length > 0) return { decisions: verdicts.flatMap(({ from }) => from), verdicts };
  const first = Math.min(...decisions.map(({ fromStep }) => fromStep));
  const last = Math.max(...decisions.map(({ toStep }) => toStep));
  throw new EspalierError("DECISION_UNKNOWN", `nothing was decided about ${hook} at step ${step}`, {
    fix: `its decisions lie between step ${first} and step ${last}; without --at all are listed`,
  });
}

/** What it means that no decision about a hook was filed. A hook that has nothing to decide by is never asked. */
async function undecided(
  store: StatsStore,
  run: RunRow,
  hook: string,
  all: readonly DecisionRow[],
): Promise<NonNullable<Why["undecided"]>> {
  const timings = await store.hookTimings(run.id);
  const calls = timings.find((row) => row.hook === hook)?.count;
  if (calls === undefined)
    throw noDecisions(
      run,
      hook,
      all,
      timings.map((row) => row.hook),
    );
  const called = `it was called ${amountText(calls, "times")}`;
  const always = "it has no schedule and no shouldRun, and runs at every event that it handles";
  if (run.outcome === "running")
    return {
      hook,
      calls,
      text: `${called}, and no decision was filed yet: ${always}, or they are still to come`,
    };
  const why = calls > 0 ? always : "it was never due, or none of its events came";
  return { hook, calls, text: `${called}, and nothing was decided about it: ${why}` };
}

function noDecisions(
  run: RunRow,
  hook: string,
  all: readonly DecisionRow[],
  timed: readonly string[],
): EspalierError {
  const hooks = [...new Set(all.map((row) => row.hook))];
  return new EspalierError(
    "DECISION_UNKNOWN",
    `run ${run.name} has no decisions about a hook "${hook}"${didYouMean(hook, [...hooks, ...timed])}`,
    {
      fix:
        hooks.length === 0
          ? "it filed none: a metricsHook with a statsStore does"
          : `it has some about ${hooks.join(", ")}`,
    },
  );
}

/** What `espalier why --json` prints. */
export const whyJson = ({ decisions, verdicts, undecided }: Why): unknown =>
  verdicts ?? (undecided ? [undecided] : decisions);

/** What `espalier why` prints. */
export function whyLines(
  { decisions, verdicts = [], undecided }: Why,
  { colors }: Pick<Style, "colors">,
): readonly string[] {
  if (undecided) return [printable(`${undecided.hook}: ${undecided.text}`, 1000)];
  const rows = decisions.map(({ fromStep, toStep, event, ran, times, why }) => [
    fromStep === toStep ? countText(fromStep) : `${countText(fromStep)} to ${countText(toStep)}`,
    event,
    ran ? "ran" : "did not run",
    countText(times),
    why,
  ]);
  return [
    ...verdicts.map(({ text }) => printable(text, 1000)),
    ...(verdicts.length > 0 ? [""] : []),
    ...headedTable(["steps", "event", "what", "times", "because"], rows, colors),
  ];
}
