import { type Clock, EspalierError } from "../core/index.ts";
import { Entry } from "./entry.ts";
import { failure } from "./failure.ts";
import type { HookSettings, UnregisterReason } from "./hook.ts";
import { handlersOf } from "./inspect.ts";
import type { HookLogger } from "./manager.ts";
import { inOrder, type OrderEdge } from "./order.ts";
import type { SlotBoard } from "./slot-board.ts";
import { Work } from "./work.ts";

interface RegistryParts {
  readonly events: readonly string[];
  readonly slots: SlotBoard;
  readonly clock: Clock;
  readonly logger: HookLogger | undefined;
  readonly warn: (text: string) => void;
  /** Told of set-ups and clean-ups that failed and could not be raised at once. */
  readonly failed: (failure: unknown) => void;
}

interface Registration {
  readonly hook: HookSettings;
  /** The hook itself where it has handlers, and its children. */
  readonly entries: readonly Entry[];
  /** Those that were set up and are not cleaned up yet. */
  readonly ready: HookSettings[];
}

/** Which hooks there are and in which order they run; sets them up and cleans them up, each once. */
export class Registry {
  readonly #parts: RegistryParts;
  #registrations: readonly Registration[] = [];
  /** By name, children's names among them. */
  readonly #names = new Map<string, Registration>();
  #order: readonly Entry[] | undefined;
  #edges: readonly OrderEdge[] = [];
  readonly #said = new Set<string>();
  readonly #setUps = new Work();
  readonly #cleanUps = new Work();
  #held = 0;
  /** Clean-ups that wait for the event under way to end. */
  readonly #leaving: (() => void)[] = [];
  #checked = false;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  get hooks(): readonly HookSettings[] {
    return this.#registrations.map(({ hook }) => hook);
  }

  get entries(): readonly Entry[] {
    return this.#registrations.flatMap(({ entries }) => entries);
  }

  /** Set-ups that have not finished. No event runs before they have. */
  get settingUp(): Promise<void> | undefined {
    return this.#setUps.done;
  }

  /** The order now; a new array whenever something has changed. */
  get order(): readonly Entry[] {
    return this.#order ?? this.check().order;
  }

  check(): { readonly order: readonly Entry[]; readonly edges: readonly OrderEdge[] } {
    if (this.#order === undefined) {
      const { order, edges, doubts } = inOrder(this.entries);
      order.forEach((entry, i) => {
        entry.order = i;
      });
      this.#order = order;
      this.#edges = edges;
      for (const doubt of doubts)
        if (!this.#said.has(doubt)) {
          this.#said.add(doubt);
          this.#parts.warn(doubt);
        }
    }
    this.#checked = true;
    return { order: this.#order, edges: this.#edges };
  }

  /** Something changed that decides which hooks run. */
  touch(): void {
    if (this.#order) this.#order = [...this.#order];
  }

  add(hook: HookSettings): void {
    const added = this.#made(hook);
    this.#change([...this.#registrations, added], undefined, added);
    this.#setUp(added);
  }

  replace(name: string, hook: HookSettings): void {
    const old = this.#find(name);
    if (!old)
      throw new EspalierError("HOOK_UNKNOWN", `there is no hook "${name}" to replace`, {
        fix: `register "${hook.name}", or name one of ${this.hooks.map((each) => each.name).join(", ") || "none"}`,
      });
    const added = this.#made(hook, old);
    this.#change(
      this.#registrations.map((each) => (each === old ? added : each)),
      old,
      added,
    );
    this.#cleanUp(old, "replaced");
    this.#setUp(added);
  }

  remove(name: string, reason: UnregisterReason): boolean {
    const found = this.#find(name);
    if (!found) return false;
    const rest = this.#registrations.filter((each) => each !== found);
    const provided = new Set(
      found.entries.flatMap(({ hook }) => hook.provides?.map((slot) => slot.name) ?? []),
    );
    for (const { entries } of rest)
      for (const { hook } of entries)
        for (const slot of hook.needs ?? [])
          if (provided.has(slot.name))
            throw new EspalierError(
              "HOOK_NEEDED",
              `hook "${name}" cannot be unregistered: "${hook.name}" needs its slot "${slot.name}"`,
              { fix: `unregister "${hook.name}" first, or replace "${name}" by another provider` },
            );
    this.#change(rest, found, undefined);
    this.#cleanUpNow([found], reason);
    return true;
  }

  clear(reason: UnregisterReason): void {
    const all = this.#registrations;
    this.#registrations = [];
    this.#order = undefined;
    this.#names.clear();
    this.#cleanUpNow(all.toReversed(), reason);
  }

  setEnabled(name: string, enabled: boolean): boolean {
    const registration = this.#names.get(name);
    if (!registration) return false;
    const named = family(registration.hook).find((each) => each.name === name) as HookSettings;
    const parts = new Set(family(named));
    for (const entry of registration.entries) if (parts.has(entry.hook)) entry.enabled = enabled;
    this.touch();
    return true;
  }

  /** While an event runs, nothing is cleaned up that it may still call. */
  hold(): void {
    this.#held++;
  }

  release(): void {
    this.#held--;
    if (this.#held === 0) for (const leave of this.#leaving.splice(0)) leave();
  }

  /** Waits for set-ups and clean-ups. */
  async settle(): Promise<void> {
    await this.#setUps.settle();
    await this.#cleanUps.settle();
  }

  /** Cleans everything up; hooks stay listed. */
  async close(): Promise<void> {
    for (const each of this.#registrations.toReversed()) this.#cleanUp(each, "closed");
    await this.settle();
  }

  #find(name: string): Registration | undefined {
    const found = this.#names.get(name);
    return found?.hook.name === name ? found : undefined;
  }

  #made(hook: HookSettings, replaced?: Registration): Registration {
    const entries: Entry[] = [];
    const own = new Set<string>();
    const walk = (each: HookSettings): void => {
      const handlers = handlersOf(each, this.#parts.events);
      const owner = this.#names.get(each.name);
      if (own.has(each.name) || (owner !== undefined && owner !== replaced))
        throw new EspalierError("HOOK_NAME_TAKEN", `there are two hooks named "${each.name}"`, {
          fix: "give one of them another name, or replace the first by manager.replace",
        });
      own.add(each.name);
      const log: ConstructorParameters<typeof Entry>[4] = (entry, context, values, category) =>
        this.#parts.logger?.(
          entry.name,
          values as Readonly<Record<string, unknown>>,
          category,
          context.counters,
        );
      if (handlers.size > 0 || each.state)
        entries.push(new Entry(each, hook, handlers, this.#parts.slots.accessFor(each), log));
      for (const child of each.children ?? []) walk(child);
    };
    walk(hook);
    return { hook, entries, ready: [] };
  }

  /** Once the run has begun, a change that cannot be put in order is refused at once. */
  #change(
    next: readonly Registration[],
    gone: Registration | undefined,
    added: Registration | undefined,
  ): void {
    const before = this.#registrations;
    this.#registrations = next;
    this.#order = undefined;
    try {
      if (this.#checked) this.check();
    } catch (error) {
      this.#registrations = before;
      this.#order = undefined;
      throw error;
    }
    if (gone) for (const each of family(gone.hook)) this.#names.delete(each.name);
    if (added) for (const each of family(added.hook)) this.#names.set(each.name, added);
  }

  /** A hook that cannot be set up is not registered. */
  #setUp(registration: Registration): void {
    for (const each of family(registration.hook))
      try {
        this.#setUps.add(each.onRegister?.({ clock: this.#parts.clock }), (cause) =>
          this.#parts.failed(failure(each, "onRegister", cause)),
        );
        registration.ready.push(each);
      } catch (cause) {
        this.#registrations = this.#registrations.filter((other) => other !== registration);
        this.#order = undefined;
        for (const member of family(registration.hook)) this.#names.delete(member.name);
        this.#cleanUp(registration, "unregistered");
        throw failure(each, "onRegister", cause);
      }
  }

  /** All of them, whatever fails; the first failure is raised here, what comes later is told. */
  #cleanUpNow(all: readonly Registration[], reason: UnregisterReason): void {
    const failures: unknown[] = [];
    let now = true;
    for (const each of all)
      this.#cleanUp(each, reason, (failed) =>
        now ? void failures.push(failed) : this.#parts.failed(failed),
      );
    now = false;
    for (const failed of failures.slice(1)) this.#parts.failed(failed);
    if (failures.length > 0) throw failures[0];
  }

  /** When the event under way has ended, and the hook's own call in the background. */
  #cleanUp(registration: Registration, reason: UnregisterReason, failed = this.#parts.failed): void {
    const all = registration.ready.splice(0).reverse();
    const clean = (): void => {
      for (const each of all) {
        const told = (cause: unknown): void => failed(failure(each, "onUnregister", cause));
        try {
          this.#cleanUps.add(each.onUnregister?.(reason), told);
        } catch (cause) {
          told(cause);
        }
      }
    };
    const leave = (): void => {
      const running = registration.entries.flatMap(({ inFlight }) => inFlight ?? []);
      if (running.length === 0) clean();
      else this.#cleanUps.add(Promise.all(running).then(clean), failed);
    };
    if (this.#held > 0) this.#leaving.push(leave);
    else leave();
  }
}

/** A hook and its children. */
const family = (hook: HookSettings): readonly HookSettings[] => [
  hook,
  ...(hook.children ?? []).flatMap((child) => family(child)),
];
