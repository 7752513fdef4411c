import {
  didYouMean,
  EspalierError,
  isPlainObject,
  nearest,
  type OptionRows,
  option,
  shown,
} from "../core/index.ts";
import { type Counters, noCounters, type Point, type Schedule } from "../schedule/index.ts";
import { type Stateful, walkState } from "../state/index.ts";
import type { Handler } from "./entry.ts";
import type { HookSettings, HookState } from "./hook.ts";

/** Names that begin like events and are not. */
const settingsLikeEvents = new Set(["onRegister", "onUnregister", "onFailure"]);

const listOf = (what: string, fits: (each: unknown) => boolean) =>
  option.made(`a list of ${what}`, (value) => Array.isArray(value) && value.every(fits), {});
const isText = (value: unknown): boolean => typeof value === "string";
const slots = listOf('slots: [slot("evaluation.scores")]', (each) => Object(each).name !== undefined);
const names = listOf('names of hooks: ["evaluation"]', isText);
const reads = listOf("names of components", isText);
const aFunction = option.function("a function", {});

/** The settings of a hook, but for its state, which `checkState` looks at. */
const settings = {
  name: option.text({}),
  schedule: option.object("a schedule: every({ epochs: 10 })", ["due"], {}),
  shouldRun: aFunction,
  needs: slots,
  wants: slots,
  provides: slots,
  after: names,
  before: names,
  priority: option.number({ infinite: true }),
  onFailure: option.oneOf(["stop", "warn", "disable"], {}),
  ranks: option.oneOf(["main", "all"], {}),
  background: option.made('{ reads: ["params"] }', (value) => reads.accepts(Object(value).reads), {}),
  timeBudget: option.number({ above: 0, infinite: true }),
  runEvent: option.text({}),
  onRegister: aFunction,
  onUnregister: aFunction,
  children: listOf("hooks", (each) => typeof each === "object"),
};
const known: OptionRows = { ...settings, state: option.object("a state", ["getState"], {}) };

/** A host's events, and the one at which `run` of its hooks is called. */
export interface HostEvents {
  readonly events: readonly string[];
  readonly stepEvent: string | undefined;
}

/** Checks a hook as it comes in and finds its handlers. */
export function handlersOf(
  hook: HookSettings,
  { events, stepEvent }: HostEvents,
): ReadonlyMap<string, Handler> {
  if (typeof hook !== "object" || hook === null || typeof hook.name !== "string" || hook.name === "")
    throw new EspalierError("HOOK_NAMELESS", "a hook has no name", {
      fix: 'give it one, as in { name: "announce", onEpochEnd: () => ... }',
    });
  const keys = keysOf(hook);
  const handlers = new Map<string, Handler>();
  for (const key of keys) {
    if (events.includes(key)) {
      const value: unknown = Reflect.get(hook, key);
      if (value === undefined) continue;
      if (typeof value !== "function")
        throw invalid(hook, `its ${key} is a ${typeof value}`, `make ${key} a function of the context`);
      handlers.set(key, value as Handler);
    } else if (/^on[A-Z]/.test(key) && !settingsLikeEvents.has(key)) {
      throw unknownEvent(hook, key, events);
    }
  }
  checkSettings(hook, keys);
  const given = `a handler: ${events.join(", ")}`;
  if (typeof hook.run !== "function") {
    if (handlers.size > 0 || (hook.children ?? []).length > 0) return handlers;
    throw invalid(
      hook,
      "it handles no event",
      stepEvent === undefined
        ? `give it ${given}`
        : `give it run(context), called in ${stepEvent}, or ${given}`,
    );
  }
  const event = hook.runEvent ?? runEventOf(hook.schedule, events, stepEvent);
  if (event === undefined)
    throw invalid(
      hook,
      "it has run, and no event of this host is the end of a step",
      `say in which event it runs, as in periodicHook({ on: "${events[0]}", ... }), or write ${given}`,
    );
  if (!events.includes(event)) throw unknownEvent(hook, event, events);
  if (!handlers.has(event)) handlers.set(event, hook.run as Handler);
  return handlers;
}

const unknownEvent = ({ name }: HookSettings, event: string, events: readonly string[]): EspalierError =>
  new EspalierError(
    "HOOK_HANDLER_UNKNOWN",
    `hook "${name}" handles "${event}", which is no event${didYouMean(event, events)}`,
    { fix: `the events are ${events.join(", ")}` },
  );

/** Epochs are over at the end of an epoch; everything else that is counted moves at the end of a step. */
function runEventOf(
  schedule: Schedule<never> | undefined,
  events: readonly string[],
  stepEvent: string | undefined,
): string | undefined {
  const own = Object.fromEntries((schedule?.units ?? []).map((unit) => [unit, 0]));
  const epochs = nextPoints(schedule, { ...own, ...noCounters })?.some(({ unit }) => unit === "epochs");
  return epochs && events.includes("onEpochEnd") ? "onEpochEnd" : stepEvent;
}

/** The first points of a schedule. One that reads counters of its host without saying so may fail here: unknown. */
function nextPoints(schedule: Schedule<never> | undefined, start: Counters): readonly Point[] | undefined {
  try {
    return schedule?.nextDue(start);
  } catch {
    return undefined;
  }
}

/** Its own names and those of its classes. */
function keysOf(hook: object): ReadonlySet<string> {
  const keys = new Set<string>();
  for (
    let at: object = hook;
    at !== Object.prototype && at !== null;
    at = Object.getPrototypeOf(at) as object
  )
    for (const key of Object.getOwnPropertyNames(at)) keys.add(key);
  return keys;
}

function checkSettings(hook: HookSettings, keys: ReadonlySet<string>): void {
  for (const [name, { is, accepts }] of Object.entries(settings)) {
    const value: unknown = Reflect.get(hook, name);
    if (value !== undefined && !accepts(value))
      throw invalid(hook, `its ${name} is ${shown(value)}, which is not ${is}`, `give ${is}`);
  }
  checkState(hook);
  if (Object.getPrototypeOf(hook) !== Object.prototype) return; // Classes have fields of their own.
  for (const [key, value] of Object.entries(hook)) {
    if (key in known || /^on[A-Z]/.test(key)) continue;
    const meant = nearest(key, Object.keys(known));
    // A field of the hook's own may be named alike; one that could be the setting is surely misspelt.
    if (meant !== undefined && !keys.has(meant) && known[meant]?.accepts(value))
      throw invalid(hook, `it has "${key}"; did you mean "${meant}"?`, `write ${meant}`);
  }
}

/** A state that could not be saved or restored is refused now, not at the first checkpoint. */
function checkState(hook: HookSettings): void {
  const { state } = hook;
  if (state === undefined || isStateful(state)) return;
  const fix =
    "make it a plain object of values that can be saved, as { runs: 0 }, or give getState and setState";
  if (!isPlainObject(state)) throw invalid(hook, `its state is ${shown(state)}`, fix);
  if (Object.isFrozen(state)) throw invalid(hook, "its state is frozen, so that it cannot be restored", fix);
  try {
    walkState(state, () => {});
  } catch (error) {
    throw invalid(hook, "its state cannot be saved", fix, error);
  }
}

export const isStateful = (state: HookState): state is Stateful =>
  typeof (state as Partial<Stateful> | null)?.getState === "function" &&
  typeof (state as Partial<Stateful>).setState === "function";

function invalid(hook: HookSettings, what: string, fix: string, cause?: unknown): EspalierError {
  return new EspalierError("HOOK_INVALID", `hook "${hook.name}" cannot be registered: ${what}`, {
    fix,
    cause,
  });
}
