import { inspect, isDeepStrictEqual } from "node:util";
import { EspalierError } from "../../core/index.ts";
import { firstDifference, type StateTree } from "../../state/index.ts";
import { type TrainerEvent, type TrainerHook, trainerEvents } from "../../trainer/index.ts";
import { type HookContextOptions, hookContext } from "./context.ts";

/** Options of {@link checkIdempotent}. */
export interface IdempotenceOptions extends Omit<HookContextOptions, "event"> {
  /** The events to try. Default: all that the hook handles. */
  readonly events?: readonly TrainerEvent[];
  /** Effects that only you can see, such as the files in a folder: must be the same after the second call. */
  readonly effects?: () => unknown;
}

/** What {@link checkIdempotent} found. */
export interface IdempotenceReport {
  readonly idempotent: boolean;
  /** What the second call changed, in words. */
  readonly differences: readonly string[];
}

/**
 * Whether a second call at the same moment leaves everything as the first one did: the hook's state, what it sets in
 * slots, logs, gives back, and whatever `effects` looks at. A run that was interrupted may ask again what was asked
 * before, so hooks should be.
 *
 * @example
 * ```ts
 * const { idempotent, differences } = await checkIdempotent(bestHook, { slots: [[evaluationScores, scores]] });
 * assert.ok(idempotent, differences.join("\n"));
 * ```
 */
export async function checkIdempotent(
  hook: TrainerHook,
  options: IdempotenceOptions = {},
): Promise<IdempotenceReport> {
  const own = trainerEvents.filter((event) => hook[event]);
  const handled = own.length === 0 && hook.run ? (["onBatchEnd"] as const) : own;
  const { events = handled, effects, ...context } = options;
  if (events.length === 0 || events.some((event) => !hook[event] && !hook.run))
    throw new EspalierError(
      "HOOK_INVALID",
      `hook "${hook.name}" does not handle ${events.join(", ") || "any event"}`,
      {
        fix: "name events it handles; of a composite check its children",
      },
    );
  const differences: string[] = [];
  for (const event of events) {
    const [first, second] = [
      await callOf(hook, event, context, effects),
      await callOf(hook, event, context, effects),
    ];
    const say = (what: string): void => void differences.push(`${event}: ${what}`);
    const state = await firstDifference(first.state, second.state);
    if (state) say(`after the second call the state differs at ${state.text}`);
    for (const part of ["result", "slots", "logged", "stops", "effects"] as const)
      if (!isDeepStrictEqual(first[part], second[part]))
        say(
          `${words[part]} ${inspect(second[part])} the second time, and ${inspect(first[part])} the first time`,
        );
  }
  return { idempotent: differences.length === 0, differences };
}

const words = {
  result: "it gave",
  slots: "it set slots to",
  logged: "it logged",
  stops: "it stopped the run for",
  effects: "its effects were",
} as const;

/** One call with a context of its own, and what came of it. */
async function callOf(
  hook: TrainerHook,
  event: TrainerEvent,
  options: HookContextOptions,
  effects: IdempotenceOptions["effects"],
) {
  const context = hookContext({ ...options, event });
  const result = await (hook[event] ? hook[event](context) : hook.run?.(context));
  const provided = (hook.provides ?? []).map((slot) => [slot.name, context.slots.get(slot)] as const);
  return {
    result,
    // What comes back may be the hook's own object, which the next call changes.
    state: structuredClone(await stateOf(hook)),
    slots: structuredClone(Object.fromEntries(provided)),
    logged: context.logged.map(({ values, category }) => ({ values, category })),
    stops: context.stops,
    effects: structuredClone(effects?.()),
  };
}

function stateOf({ state }: TrainerHook): StateTree | Promise<StateTree> {
  if (state === undefined) return null;
  return typeof state.getState === "function" ? state.getState() : (state as StateTree);
}
