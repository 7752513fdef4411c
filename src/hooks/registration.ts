import { EspalierError } from "../core/index.ts";
import { Entry, type EntryServices } from "./entry.ts";
import type { HookSettings } from "./hook.ts";
import { type HostEvents, handlersOf } from "./inspect.ts";
import type { LogOutlet } from "./log-outlet.ts";
import type { SlotBoard } from "./slot-board.ts";

/** A hook that was registered, with its children. */
export interface Registration {
  readonly hook: HookSettings;
  /** The hook itself where it has handlers, and its children. */
  readonly entries: readonly Entry[];
  /** Those that were set up and are not cleaned up yet. */
  readonly ready: HookSettings[];
}

export interface RegistrationParts extends HostEvents {
  readonly slots: SlotBoard;
  readonly log: LogOutlet;
  readonly work: Pick<EntryServices, "afterEvent" | "inBackground">;
}

/** Checks a hook and its children as they come in. */
export function registrationOf(
  hook: HookSettings,
  parts: RegistrationParts,
  isTaken: (name: string) => boolean,
): Registration {
  const { slots, log, work } = parts;
  const entries: Entry[] = [];
  const own = new Set<string>();
  const services: EntryServices = {
    log: (entry, context, values, category) =>
      log.log(entry.name, values as Readonly<Record<string, unknown>>, context.counters, category),
    afterEvent: (entry, event, given) => work.afterEvent(entry, event, given),
    inBackground: (entry, event, given) => work.inBackground(entry, event, given),
  };
  const walk = (each: HookSettings, above: readonly HookSettings[]): void => {
    const handlers = handlersOf(each, parts);
    if (own.has(each.name) || isTaken(each.name))
      throw new EspalierError("HOOK_NAME_TAKEN", `there are two hooks named "${each.name}"`, {
        fix: "give one of them another name, or replace the first by manager.replace",
      });
    own.add(each.name);
    if (handlers.size > 0 || each.state)
      entries.push(new Entry(each, hook, handlers, slots.accessFor(each, above), services));
    for (const child of each.children ?? []) walk(child, [...above, each]);
  };
  walk(hook, []);
  return { hook, entries, ready: [] };
}

/** A hook and its children. */
export const family = (hook: HookSettings): readonly HookSettings[] => [
  hook,
  ...(hook.children ?? []).flatMap((child) => family(child)),
];
