import { type Clock, EspalierError } from "../core/index.ts";
import {
  type Entry,
  family,
  PendingWork,
  type Registration,
  type RegistrationParts,
  registrationOf,
} from "./entry.ts";
import type { HookHost, HookSettings, UnregisterReason } from "./hook.ts";
import type { Observers } from "./manager.ts";
import { inOrder, type OrderEdge } from "./order.ts";
import { failure, type Runner } from "./runner.ts";

interface RegistryParts extends RegistrationParts {
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  readonly observers: Observers;
}

/** The registered hooks and the order in which they run. */
export class Registry {
  /** Set-ups and clean-ups. */
  readonly lifecycle: Lifecycle;
  readonly #parts: RegistryParts;
  #registrations: readonly Registration[] = [];
  /** By name, children's names among them. */
  readonly #names = new Map<string, Registration>();
  #order: readonly Entry[] | undefined;
  #edges: readonly OrderEdge[] = [];
  readonly #said = new Set<string>();
  #checked = false;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
    this.lifecycle = new Lifecycle(parts);
  }

  get hooks(): readonly HookSettings[] {
    return this.#registrations.map(({ hook }) => hook);
  }

  get entries(): readonly Entry[] {
    return this.#registrations.flatMap(({ entries }) => entries);
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

  /** Called after a change that decides which hooks run. */
  touch(): void {
    if (this.#order) this.#order = [...this.#order];
  }

  add(hook: HookSettings): void {
    const added = registrationOf(hook, this.#parts, (each) => this.#names.has(each));
    this.#change([...this.#registrations, added], undefined, added);
    this.#setUp(added);
  }

  replace(name: string, hook: HookSettings): void {
    const old = this.#find(name);
    if (!old)
      throw new EspalierError("HOOK_UNKNOWN", `there is no hook "${name}" to replace`, {
        fix: `register "${hook.name}", or name one of ${this.hooks.map((each) => each.name).join(", ") || "none"}`,
      });
    const added = registrationOf(hook, this.#parts, (each) => {
      const owner = this.#names.get(each);
      return owner !== undefined && owner !== old;
    });
    this.#change(
      this.#registrations.map((each) => (each === old ? added : each)),
      old,
      added,
    );
    this.lifecycle.cleanUp(old, "replaced");
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
    this.lifecycle.cleanUpNow([found], reason);
    return true;
  }

  clear(reason: UnregisterReason): void {
    const all = this.#registrations;
    this.#registrations = [];
    this.#order = undefined;
    this.#names.clear();
    this.lifecycle.cleanUpNow(all.toReversed(), reason);
  }

  setEnabled(name: string, enabled: boolean): boolean {
    const registration = this.#names.get(name);
    if (!registration) return false;
    const named = family(registration.hook).find((each) => each.name === name) as HookSettings;
    const parts = new Set(family(named));
    for (const entry of registration.entries)
      if (parts.has(entry.hook) && entry.enabled !== enabled) {
        entry.enabled = enabled;
        this.#parts.observers.switched(entry.name, enabled);
      }
    this.touch();
    return true;
  }

  /** Cleans everything up; hooks stay listed. */
  async close(): Promise<void> {
    for (const each of this.#registrations.toReversed()) this.lifecycle.cleanUp(each, "closed");
    await this.lifecycle.settle();
  }

  #find(name: string): Registration | undefined {
    const found = this.#names.get(name);
    return found?.hook.name === name ? found : undefined;
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
    try {
      this.lifecycle.setUp(registration);
    } catch (error) {
      this.#registrations = this.#registrations.filter((each) => each !== registration);
      this.#order = undefined;
      for (const each of family(registration.hook)) this.#names.delete(each.name);
      throw error;
    }
  }
}

/** Sets hooks up and cleans them up, each once. */
class Lifecycle {
  readonly #host: HookHost;
  readonly #runner: Runner;
  /** Keeps failures that could not be raised at once. */
  readonly #failed: (failure: unknown) => void;
  readonly #setUps = new PendingWork();
  readonly #cleanUps = new PendingWork();
  #held = 0;
  /** Clean-ups that wait for the event under way to end. */
  readonly #leaving: (() => void)[] = [];

  constructor({ clock, warn, log, observers, runner }: RegistryParts) {
    this.#runner = runner;
    this.#failed = (failed) => runner.background.keep(failed);
    this.#host = {
      clock,
      warn,
      installLogger: (logger) => log.install(logger),
      observe: (observer) => observers.add(observer),
    };
  }

  /** Set-ups that have not finished. No event runs before they have. */
  get settingUp(): Promise<void> | undefined {
    return this.#setUps.done;
  }

  /** Sets a hook and its children up; undoes that where one of them fails. */
  setUp(registration: Registration): void {
    for (const each of family(registration.hook))
      try {
        this.#setUps.add(each.onRegister?.(this.#host), (cause) =>
          this.#failed(failure(each, "onRegister", cause)),
        );
        registration.ready.push(each);
      } catch (cause) {
        this.cleanUp(registration, "unregistered");
        throw failure(each, "onRegister", cause);
      }
  }

  /** Cleans all of them up, whatever fails. Raises the first failure; later ones go to `failed`. */
  cleanUpNow(all: readonly Registration[], reason: UnregisterReason): void {
    const failures: unknown[] = [];
    let now = true;
    for (const each of all)
      this.cleanUp(each, reason, (failed) => (now ? void failures.push(failed) : this.#failed(failed)));
    now = false;
    for (const failed of failures.slice(1)) this.#failed(failed);
    if (failures.length > 0) throw failures[0];
  }

  /** Cleans up when the event under way has ended, and the hook's own call in the background. */
  cleanUp({ ready, entries }: Registration, reason: UnregisterReason, failed = this.#failed): void {
    const all = ready.splice(0).reverse();
    const clean = (): void => {
      for (const each of all) {
        const told = (cause: unknown): void => {
          const entry = entries.find(({ hook }) => hook === each);
          try {
            if (!entry) throw failure(each, "onUnregister", cause);
            this.#runner.failed(entry, "onUnregister", cause);
          } catch (error) {
            failed(error);
          }
        };
        try {
          this.#cleanUps.add(each.onUnregister?.(reason), told);
        } catch (cause) {
          told(cause);
        }
      }
    };
    const leave = (): void => {
      const running = entries.flatMap(({ background }) => background.done ?? []);
      if (running.length === 0) clean();
      else this.#cleanUps.add(Promise.all(running).then(clean), failed);
    };
    if (this.#held > 0) this.#leaving.push(leave);
    else leave();
  }

  /** While an event runs, no hook that it may still call is cleaned up. */
  hold(): void {
    this.#held++;
  }

  release(): void {
    this.#held--;
    if (this.#held === 0 && this.#leaving.length > 0) for (const leave of this.#leaving.splice(0)) leave();
  }

  /** Waits for set-ups and clean-ups. */
  async settle(): Promise<void> {
    await this.#setUps.settle();
    await this.#cleanUps.settle();
  }
}
