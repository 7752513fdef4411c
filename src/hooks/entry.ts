import { EspalierError, isPlainObject, treeMap } from "../core/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { HookContext, HookSettings, HookState, HostContext } from "./hook.ts";
import type { SlotAccess } from "./slot.ts";
import { Stopwatch } from "./timing.ts";

export type Handler = (context: HookContext) => unknown;

/** What the manager does for a hook that asks for it through its context. */
export interface EntryServices {
  log(entry: Entry, context: HookContext, values: object, category: string | undefined): void;
  afterEvent(entry: Entry, event: string, work: () => unknown): void;
  inBackground(entry: Entry, event: string, work: Promise<unknown>): void;
}

/** A registered hook and what the manager knows of it. */
export class Entry {
  readonly hook: HookSettings;
  /** The registration it came with: its own, or that of the hook it is a child of. */
  readonly root: HookSettings;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly timing = new Stopwatch();
  readonly slots: SlotAccess;
  /** What is saved of it. */
  readonly state: Stateful | undefined;
  enabled = true;
  /** Place in the plan. */
  order = 0;
  /** The call in the background, while there is one. */
  inFlight: Promise<void> | undefined;
  /** How often it failed in an event without stopping the run, and the last cause. */
  readonly failures = new Map<string, { readonly count: number; readonly error: unknown }>();
  readonly #services: EntryServices;
  #view: { event: string } | undefined;
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
      this.#view = this.freshView(context, event) as HookContext & { event: string };
      this.#viewOf = context;
    } else this.#view.event = event;
    return this.#view as unknown as HookContext;
  }

  /** A view of its own for a call in the background. */
  freshView(context: object, event: string): HookContext {
    // Defined, not assigned: a host's context may be frozen or have getters of these names.
    const view: HookContext = Object.create(context, {
      event: { value: event, writable: true, enumerable: true },
      slots: { value: this.slots, enumerable: true },
      log: {
        value: (values: object, category?: string) => this.#services.log(this, view, values, category),
        enumerable: true,
      },
      afterEvent: {
        value: (work: () => unknown) => this.#services.afterEvent(this, view.event, work),
        enumerable: true,
      },
      inBackground: {
        value: (work: Promise<unknown>) => this.#services.inBackground(this, view.event, work),
        enumerable: true,
      },
    }) as HookContext;
    return view;
  }

  /** Whether it runs now, as far as schedule, rank and predicate say. Who is disabled is not asked. */
  isDue(context: HostContext, event: string): boolean {
    const { hook } = this;
    if (context.rank !== 0 && hook.ranks !== "all") return false;
    if (hook.schedule === undefined && hook.shouldRun === undefined) return true;
    const view = this.viewOf(context, event);
    if (hook.schedule !== undefined && !hook.schedule.due(view)) return false;
    return wants(hook, view);
  }
}

/** What a hook's predicate says; true where it has none. A promise is no answer: it would always count as true. */
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

export const isStateful = (state: HookState): state is Stateful =>
  typeof (state as Partial<Stateful> | null)?.getState === "function" &&
  typeof (state as Partial<Stateful>).setState === "function";

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
