import type { DecisionRow } from "../../metrics/index.ts";
import { countText } from "./text/numbers.ts";

/** What the filed decisions tell of a hook at one step. */
export interface StepVerdict {
  readonly hook: string;
  readonly event: string;
  readonly step: number;
  /** Null where it ran several times around this step, and at which steps was not filed. */
  readonly ran: boolean | null;
  /** Where that is so and the times are evenly spaced: whether it ran here. */
  readonly evenly?: boolean;
  /** In one sentence. */
  readonly text: string;
  /** The decisions this is from: the stretch around the step, or those before and after it. */
  readonly from: readonly DecisionRow[];
}

/** What is known of a step, event by event. Empty where all decisions lie before it, or all behind it. */
export function verdictsAt(decisions: readonly DecisionRow[], step: number): readonly StepVerdict[] {
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
    ...{ hook, event, step, ran: known, ...more },
    ...{ text: `${event} at ${at(step)}: ${words}`, from: [row] },
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
