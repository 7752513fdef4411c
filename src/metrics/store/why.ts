import { amountText, countText, didYouMean, EspalierError } from "../../core/index.ts";
import type { DecisionRow, RunRow, StatsStore } from "./stats-store.ts";

/** Why a hook did or did not run in a run. */
export interface HookDecisions {
  /** Stretches of steps over which it was the same for the same reason: all, or those that tell of the step asked for. */
  readonly decisions: readonly DecisionRow[];
  /** Their verdicts about the step asked for, event by event. */
  readonly verdicts?: readonly StepVerdict[];
  /** Set if nothing was ever decided about it: the conclusion from that. */
  readonly undecided?: { readonly hook: string; readonly calls: number; readonly text: string };
}

/** Reads what was decided about a hook, in all or at a step. */
export async function readWhy(
  store: StatsStore,
  asked: string,
  hook: string,
  step?: number,
): Promise<HookDecisions> {
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
    fix: `its decisions lie between step ${first} and step ${last}`,
  });
}

/** Explains that no decision about a hook was filed. A hook that has nothing to decide by is never asked. */
async function undecided(
  store: StatsStore,
  run: RunRow,
  hook: string,
  all: readonly DecisionRow[],
): Promise<NonNullable<HookDecisions["undecided"]>> {
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

/** The verdict of the filed decisions about a hook at one step. */
export interface StepVerdict {
  readonly hook: string;
  readonly event: string;
  readonly step: number;
  /** Null where it ran several times around this step, and at which steps was not filed. */
  readonly ran: boolean | null;
  /** Set in that case if the times are evenly spaced: true if it ran here. */
  readonly evenly?: boolean;
  /** In one sentence. */
  readonly text: string;
  /** The decisions this is from: the stretch around the step, or those before and after it. */
  readonly from: readonly DecisionRow[];
}

/** The verdicts about a step, event by event. Empty if all decisions are before it, or all after it. */
function verdictsAt(decisions: readonly DecisionRow[], step: number): readonly StepVerdict[] {
  const events = [...new Set(decisions.map(({ event }) => event))];
  return events.flatMap((event) => {
    const rows = decisions.filter((row) => row.event === event);
    const around = rows.filter(({ fromStep, toStep }) => fromStep <= step && step <= toStep);
    if (around.length > 0) return around.map((row) => within(row, step));
    const before = rows.findLast(({ toStep }) => toStep < step);
    const after = rows.find(({ fromStep }) => fromStep > step);
    return before && after ? [between(before, after, step)] : [];
  });
}

const at = (step: number): string => `step ${countText(step)}`;

/** A hook is asked where it may be due: where it was not, it was not due. */
function between(before: DecisionRow, after: DecisionRow, step: number): StepVerdict {
  const { hook, event } = before;
  const asked = `it was asked last at ${at(before.toStep)} and next at ${at(after.fromStep)}`;
  const text = `${event} at ${at(step)}: it did not run, for it was not due: ${asked}`;
  return { hook, event, step, ran: false, text, from: [before, after] };
}

function within(row: DecisionRow, step: number): StepVerdict {
  const { hook, event, ran, why, fromStep, toStep, times } = row;
  const say = (known: boolean | null, words: string, more: { readonly evenly?: boolean } = {}) => ({
    hook,
    event,
    step,
    ran: known,
    ...more,
    text: `${event} at ${at(step)}: ${words}`,
    from: [row],
  });
  if (!ran) return say(false, `it did not run: ${why}`);
  if (step === fromStep || step === toStep) return say(true, `it ran: ${why}`);
  const ends = `${at(fromStep)} and at ${at(toStep)}`;
  if (times <= 2) return say(false, `it did not run, for it was not due: it ran at ${ends} (${why})`);
  const known = `it ran ${countText(times)} times from ${at(fromStep)} to ${at(toStep)} (${why})`;
  const gap = (toStep - fromStep) / (times - 1);
  if (!Number.isInteger(gap)) return say(null, `${known}; at which steps between these was not filed`);
  const last = step - ((step - fromStep) % gap);
  const evenly = last === step;
  const likely = evenly ? "it ran here" : `not due here: it ran at ${at(last)} and next at ${at(last + gap)}`;
  return say(null, `${known}; if evenly, every ${countText(gap)} steps, ${likely}`, { evenly });
}
