import type { Unit } from "../../schedule/index.ts";
import type { TrainerEvent } from "../../trainer/index.ts";
import type { RecordedCall } from "./recorded.ts";

interface Calls {
  readonly calls: readonly RecordedCall[];
}

/**
 * When a hook ran, in one unit. With an event, only then.
 *
 * @example
 * ```ts
 * assert.deepEqual(ran(run, "checkpoint", "epochs"), [2, 4]);
 * ```
 */
export function ran({ calls }: Calls, hook: string, unit: Unit, event?: TrainerEvent): readonly number[] {
  return calls
    .filter((call) => call.hook === hook && (event === undefined || call.event === event))
    .map(({ counters }) => counters[unit] ?? Number.NaN);
}

/**
 * Which hooks ran, in order: a list for each time the event happened and anyone ran.
 *
 * @example
 * ```ts
 * assert.deepEqual(orderOf(run, "onEpochEnd"), [["evaluation", "metrics", "checkpoint"]]);
 * ```
 */
export function orderOf({ calls }: Calls, event: TrainerEvent): readonly (readonly string[])[] {
  const times: { readonly at: object; readonly names: string[] }[] = [];
  for (const { hook, event: called, counters } of calls) {
    if (called !== event) continue;
    const last = times[times.length - 1];
    // The counters of an event are one object, and a hook runs once in it.
    if (last?.at === counters && !last.names.includes(hook)) last.names.push(hook);
    else times.push({ at: counters, names: [hook] });
  }
  return times.map(({ names }) => names);
}
