import type { Counters } from "../../schedule/index.ts";
import {
  type TrainerContext,
  type TrainerEvent,
  type TrainerHook,
  trainerEvents,
} from "../../trainer/index.ts";

/** One call of one handler. */
export interface RecordedCall {
  readonly hook: string;
  readonly event: TrainerEvent;
  readonly counters: Counters;
  /** What it gave back, once it was done; undefined where it failed. */
  readonly result: unknown;
  /** What it failed with. */
  readonly error: unknown;
}

/** Values that a hook logged. */
export interface Logged {
  /** In whose name. Empty for a lone context. */
  readonly hook: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly category: string | undefined;
  readonly counters: Counters;
}

/** Does a call, or something instead of it. */
export type Around = (
  hook: string,
  event: TrainerEvent,
  context: TrainerContext,
  call: () => unknown,
) => unknown;

/**
 * The same hook with something around each of its calls, its children's included. A copy: hooks may be frozen or keep
 * private fields, so that they are never changed and always called as themselves.
 */
export function around(hook: TrainerHook, wrap: Around): TrainerHook {
  const source = hook as unknown as Readonly<Record<string, unknown>>;
  const copy: Record<string, unknown> = {};
  const keys = keysOf(hook);
  for (const key of keys) {
    const value = source[key];
    if (typeof value !== "function") copy[key] = value;
    else if (isEvent(key) || (key === "run" && !keys.some(isEvent)))
      copy[key] = (context: TrainerContext) =>
        wrap(hook.name, context.event as TrainerEvent, context, () => value.call(hook, context));
    else copy[key] = value.bind(hook);
  }
  // A class may put another object in its place.
  if ("state" in hook) Object.defineProperty(copy, "state", { get: () => hook.state, enumerable: true });
  if (hook.children) copy.children = hook.children.map((child) => around(child as TrainerHook, wrap));
  return copy as unknown as TrainerHook;
}

/** Writes every call down, in the order in which they begin. */
export function recording(calls: RecordedCall[]): Around {
  return (hook, event, context, call) => {
    const record = {
      hook,
      event,
      counters: context.counters,
      result: undefined as unknown,
      error: undefined as unknown,
    };
    calls.push(record);
    const done = (result: unknown): unknown => {
      record.result = result;
      return result;
    };
    const failed = (error: unknown): never => {
      record.error = error;
      throw error;
    };
    try {
      const result = call();
      return result instanceof Promise ? result.then(done, failed) : done(result);
    } catch (error) {
      return failed(error);
    }
  };
}

const isEvent = (key: string): key is TrainerEvent => (trainerEvents as readonly string[]).includes(key);

/** A plain hook's own names; of a class also the handlers and settings that its methods are. */
function keysOf(hook: object): readonly string[] {
  const keys = new Set(Object.keys(hook));
  for (
    let at = Object.getPrototypeOf(hook) as object;
    at && at !== Object.prototype;
    at = Object.getPrototypeOf(at) as object
  )
    for (const key of Object.getOwnPropertyNames(at)) if (key !== "constructor") keys.add(key);
  return [...keys];
}
