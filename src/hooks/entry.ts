import { EspalierError, isPlainObject, treeMap } from "../core/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { HookContext, HookSettings, HostContext } from "./hook.ts";
import { type HostEvents, handlersOf, isStateful } from "./inspect.ts";
import type { LogOutlet } from "./manager.ts";
import type { Runner } from "./runner.ts";
import type { SlotAccess, SlotBoard } from "./slots.ts";

export type Handler = (context: HookContext) => unknown;

/** Parts of the manager that a hook uses through its context. */
interface EntryServices {
  readonly log: LogOutlet;
  readonly runner: Runner;
}

/** A registered hook and what the manager knows of it. */
export class Entry {
  readonly hook: HookSettings;
  /** The registration it came with: its own, or that of the hook it is a child of. */
  readonly root: HookSettings;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly timing = new Stopwatch();
  readonly slots: SlotAccess;
  /** Its state as a component. */
  readonly state: Stateful | undefined;
  enabled = true;
  /** Position in the plan. */
  order = 0;
  /** What goes on in the background. */
  readonly background = new PendingWork();
  /** Failures by event that did not stop the run: their number and the last cause. */
  readonly failures = new Map<string, { readonly count: number; readonly error: unknown }>();
  readonly #services: EntryServices;
  #view: (HookContext & { event: string }) | undefined;
  #viewOf: object | undefined;

  constructor(
    hook: HookSettings,
    root: HookSettings,
    handlers: ReadonlyMap<string, Handler>,
    slots: SlotAccess,
    services: EntryServices,
  ) {
    this.hook = hook;
    this.root = root;
    this.handlers = handlers;
    this.slots = slots;
    this.state = componentOf(hook);
    this.#services = services;
  }

  get name(): string {
    return this.hook.name;
  }

  /** The host's context as this hook sees it. Made once a host; the host moves its context on. */
  viewOf(context: HostContext, event: string): HookContext {
    if (this.#viewOf !== context || !this.#view) {
      this.#view = this.freshView(context, event);
      this.#viewOf = context;
    } else this.#view.event = event;
    return this.#view;
  }

  /** A view of its own for a call in the background. */
  freshView(context: object, event: string): HookContext & { event: string } {
    const { log, runner } = this.#services;
    const own: Pick<HookContext, "slots" | "log" | "afterEvent" | "inBackground"> = {
      slots: this.slots,
      log: (values, category) => log.log(this.name, values, view.counters, category),
      afterEvent: (work) => runner.afterEvent(this, view.event, work),
      inBackground: (work) => runner.background.goOn(this, view.event, work),
    };
    // Defined, not assigned: a host's context may be frozen or have getters of these names.
    const view = Object.create(context, {
      ...Object.getOwnPropertyDescriptors(own),
      event: { value: event, writable: true, enumerable: true },
    }) as HookContext & { event: string };
    return view;
  }

  /** True where rank, schedule and predicate let it run now. A disabled hook is not asked. */
  isDue(context: HostContext, event: string): boolean {
    const { hook } = this;
    if (context.rank !== 0 && hook.ranks !== "all") return false;
    if (hook.schedule === undefined && hook.shouldRun === undefined) return true;
    const view = this.viewOf(context, event);
    if (hook.schedule !== undefined && !hook.schedule.due(view)) return false;
    return wants(hook, view);
  }
}

/** The answer of a hook's predicate; true where it has none. A promise is refused: it would always count as true. */
export function wants(hook: HookSettings, view: HookContext): boolean {
  if (hook.shouldRun === undefined) return true;
  const answer: unknown = hook.shouldRun(view);
  if (!(answer instanceof Promise)) return Boolean(answer);
  answer.catch(() => {}); // Refused whatever comes of it.
  throw new EspalierError(
    "CONDITION_INVALID",
    `the shouldRun of hook "${hook.name}" gave a promise, which is not true or false`,
    { fix: "give true or false, at once; what takes time belongs into the handler" },
  );
}

/** A hook's state as a component. A plain object is read when it is asked for, because a class may replace it. */
function componentOf(hook: HookSettings): Stateful | undefined {
  if (hook.state === undefined || isStateful(hook.state)) return hook.state;
  const held = () => hook.state as Record<string, StateTree>;
  return {
    getState: () => copyOf(held()),
    setState: (saved) => {
      if (!isPlainObject(saved))
        throw new EspalierError("STATE_INVALID", `this is not a state of hook "${hook.name}"`, {
          fix: "pass what getState() gave: a plain object",
        });
      const state = held();
      for (const name of Object.keys(state)) delete state[name];
      Object.assign(state, copyOf(saved));
    },
  };
}

const copyOf = <T extends object>(state: T): T =>
  treeMap((leaf: unknown) => (ArrayBuffer.isView(leaf) ? structuredClone(leaf) : leaf), state);

/** Asynchronous work to wait for later. */
export class PendingWork {
  #all: Promise<void> | undefined;

  /** Resolves when all that was added so far is done; undefined where nothing is under way. Never rejects. */
  get done(): Promise<void> | undefined {
    return this.#all;
  }

  /** Failures go to `failed`. Anything but a promise is done already. */
  add(work: unknown, failed: (cause: unknown) => void): void {
    if (!(work instanceof Promise)) return;
    const all: Promise<void> = Promise.all([this.#all, work.catch(failed)]).then(() => {
      if (this.#all === all) this.#all = undefined;
    });
    this.#all = all;
  }

  /** Waits until nothing is under way. */
  async settle(): Promise<void> {
    while (this.#all !== undefined) await this.#all;
  }
}

/** A registered hook with its children. */
export interface Registration {
  readonly hook: HookSettings;
  /** The hook itself where it has handlers, and its children. */
  readonly entries: readonly Entry[];
  /** Hooks that were set up and are not cleaned up yet. */
  readonly ready: HookSettings[];
}

export interface RegistrationParts extends HostEvents, EntryServices {
  readonly slots: SlotBoard;
}

/** Checks a hook and its children as they come in. */
export function registrationOf(
  hook: HookSettings,
  parts: RegistrationParts,
  isTaken: (name: string) => boolean,
): Registration {
  const entries: Entry[] = [];
  const own = new Set<string>();
  const walk = (each: HookSettings, above: readonly HookSettings[]): void => {
    const handlers = handlersOf(each, parts);
    if (own.has(each.name) || isTaken(each.name))
      throw new EspalierError("HOOK_NAME_TAKEN", `there are two hooks named "${each.name}"`, {
        fix: "give one of them another name, or replace the first by manager.replace",
      });
    own.add(each.name);
    if (handlers.size > 0 || each.state)
      entries.push(new Entry(each, hook, handlers, parts.slots.accessFor(each, above), parts));
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

/** How long a hook's calls took, in milliseconds. */
export interface HookTiming {
  readonly hook: string;
  readonly count: number;
  readonly mean: number;
  /** To within a tenth. */
  readonly p99: number;
  readonly max: number;
  readonly total: number;
}

/** Buckets grow by a factor of 2^(1/8); the first ends at 2^-14 ms, the last holds everything above 2^18 ms. */
const perDoubling = 8;
const lowest = -14;
const buckets = perDoubling * 32;

/** Collects durations in constant memory. */
export class Stopwatch {
  #count = 0;
  #total = 0;
  #max = 0;
  readonly #histogram = new Uint32Array(buckets);

  add(milliseconds: number): void {
    this.#count++;
    this.#total += milliseconds;
    if (milliseconds > this.#max) this.#max = milliseconds;
    const bucket = milliseconds > 0 ? Math.ceil((Math.log2(milliseconds) - lowest) * perDoubling) : 0;
    const at = bucket < 0 ? 0 : bucket >= buckets ? buckets - 1 : bucket;
    this.#histogram[at] = (this.#histogram[at] as number) + 1;
  }

  read(hook: string): HookTiming {
    const count = this.#count;
    return {
      hook,
      count,
      mean: count === 0 ? 0 : this.#total / count,
      p99: this.#percentile(0.99),
      max: this.#max,
      total: this.#total,
    };
  }

  #percentile(share: number): number {
    const rank = Math.ceil(this.#count * share);
    let seen = 0;
    for (let at = 0; at < buckets; at++) {
      seen += this.#histogram[at] as number;
      // The last bucket has no end of its own.
      if (seen >= rank && seen > 0 && at < buckets - 1)
        return Math.min(this.#max, 2 ** (at / perDoubling + lowest));
    }
    return this.#max;
  }
}
