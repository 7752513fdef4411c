import { didYouMean, EspalierError } from "../../core/index.ts";
import type { DecisionRow, RunRow, StatsStore } from "../../metrics/index.ts";
import { countText } from "./text/numbers.ts";
import type { Style } from "./text/style.ts";
import { headedTable } from "./text/table.ts";

/** Why a hook did or did not run in a past run: stretches of steps over which it was the same for the same reason. */
export async function readDecisions(
  store: StatsStore,
  asked: string,
  hook: string,
  at?: number,
): Promise<readonly DecisionRow[]> {
  const run = await store.run(asked);
  const all = await store.list(run.id, "decision");
  const decisions = all.filter((row) => row.hook === hook);
  if (decisions.length === 0) throw noDecisions(run, hook, all);
  if (at === undefined) return decisions;
  const there = decisions.filter(({ fromStep, toStep }) => fromStep <= at && at <= toStep);
  if (there.length > 0) return there;
  const first = Math.min(...decisions.map(({ fromStep }) => fromStep));
  const last = Math.max(...decisions.map(({ toStep }) => toStep));
  throw new EspalierError("DECISION_UNKNOWN", `nothing was decided about ${hook} at step ${at}`, {
    fix: `its decisions lie between step ${first} and step ${last}; without --at all are listed`,
  });
}

function noDecisions(run: RunRow, hook: string, all: readonly DecisionRow[]): EspalierError {
  const hooks = [...new Set(all.map((row) => row.hook))];
  return new EspalierError(
    "DECISION_UNKNOWN",
    `run ${run.name} has no decisions about a hook "${hook}"${didYouMean(hook, hooks)}`,
    {
      fix:
        hooks.length === 0
          ? "it filed none: a metricsHook with a statsStore does"
          : `it has some about ${hooks.join(", ")}`,
    },
  );
}

/** The table that `espalier why` prints. */
export const decisionLines = (
  rows: readonly DecisionRow[],
  { colors }: Pick<Style, "colors">,
): readonly string[] =>
  headedTable(
    ["steps", "event", "what", "times", "because"],
    rows.map(({ fromStep, toStep, event, ran, times, why }) => [
      fromStep === toStep ? countText(fromStep) : `${countText(fromStep)} to ${countText(toStep)}`,
      event,
      ran ? "ran" : "did not run",
      countText(times),
      why,
    ]),
    colors,
  );
