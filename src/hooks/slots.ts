import { EspalierError } from "../core/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { HookSettings } from "./hook.ts";

/**
 * A shared value with a name: one hook provides it and others read it. Hooks know slots, never each other.
 *
 * @example
 * ```ts
 * export const scores = slot<EvaluationScores>("evaluation.scores");
 * ```
 */
export interface Slot<T = unknown> {
  readonly name: string;
  /** True where its newest value belongs to the state of the run. Such values are state trees. */
  readonly saved: boolean;
  /** Reduces a value to the part that is saved: no two runs share seconds, or paths. */
  save?(value: T): T;
  /** True where several hooks may provide it: its value is the newest of theirs. */
  readonly shared?: boolean;
  /** The fix that the error names where two hooks provide it. */
  readonly conflict?: string | undefined;
  /** Never set: carries the type. */
  readonly type?: T | undefined;
}

/** Options of {@link slot}. */
export interface SlotOptions<T = unknown> {
  /** False for values that cannot be saved or make no sense after a resume. Default: true. */
  readonly saved?: boolean;
  /** Reduces a value to the part that is saved. Default: all of it. */
  readonly save?: (value: T) => T;
  /** Several hooks may provide it: its value is the newest of theirs. Default: false. */
  readonly shared?: boolean;
  /** The fix that the error names where two hooks provide it. */
  readonly conflict?: string;
}

/**
 * Makes a slot: a value that one hook provides and others read, by its name.
 *
 * @example
 * ```ts
 * const scores = slot<EvaluationScores>("evaluation.scores");
 * const hook = { name: "announce", wants: [scores], onEpochEnd: ({ slots }) => console.log(slots.get(scores)) };
 * ```
 */
export function slot<T>(name: string, options: SlotOptions<T> = {}): Slot<T> {
  const { saved = true, save, shared, conflict } = options;
  return { name, saved, ...(save && { save }), ...(shared && { shared }), ...(conflict && { conflict }) };
}

/** A hook's access to the slots it declared. */
export interface SlotAccess {
  /** The newest value; undefined until a hook provides one. Needs the slot in `needs`, `wants` or `provides`. */
  get<T>(slot: Slot<T>): T | undefined;
  /** The value as it was before this event began. Needs no declaration and makes no order. */
  previous<T>(slot: Slot<T>): T | undefined;
  /** Needs the slot in `provides`. */
  set<T>(slot: Slot<T>, value: NoInfer<T>): void;
  /** True where a registered hook reads it, by `needs` or `wants`. A provider may leave a costly value out otherwise. */
  isWanted(slot: Slot): boolean;
}

interface Held {
  value: unknown;
  /** The value before the event in which it was last set. */
  before: unknown;
  event: number;
  /** Undefined where the value was restored. */
  slot: Slot | undefined;
}

/** Holds the shared values. Its state is the newest value of every saved slot. */
export class SlotBoard implements Stateful {
  /** Called with every value that is set. */
  told: ((slot: Slot, value: unknown) => void) | undefined;
  readonly #held = new Map<string, Held>();
  readonly #hooks: () => readonly HookSettings[];
  #event = 0;

  /** `hooks` returns those that are registered now. */
  constructor(hooks: () => readonly HookSettings[] = () => []) {
    this.#hooks = hooks;
  }

  /** Begins an event: `previous` returns the values of now. */
  begin(): void {
    this.#event++;
  }

  /** A hook's access to the slots that it and the hooks above it declare. */
  accessFor(hook: HookSettings, above: readonly HookSettings[] = []): SlotAccess {
    const family = [hook, ...above];
    const provides = new Set(family.flatMap((each) => each.provides ?? []).map(({ name }) => name));
    const reads = new Set(
      family.flatMap((each) => [...(each.needs ?? []), ...(each.wants ?? [])]).map(({ name }) => name),
    );
    return {
      get: (slot) => {
        if (!reads.has(slot.name) && !provides.has(slot.name)) throw undeclared(hook, slot, "reads", "wants");
        return this.get(slot);
      },
      previous: <T>(slot: Slot<T>) => {
        const held = this.#held.get(slot.name);
        // Only ever set by `set`, which takes values of the slot's type.
        return (held?.event === this.#event ? held.before : held?.value) as T | undefined;
      },
      set: (slot, value) => {
        if (!provides.has(slot.name)) throw undeclared(hook, slot, "sets", "provides");
        this.set(slot, value);
        this.told?.(slot, value);
      },
      isWanted: ({ name }) =>
        this.#hooks().some(({ needs = [], wants = [] }) =>
          [...needs, ...wants].some((slot) => slot.name === name),
        ),
    };
  }

  get<T>(slot: Slot<T>): T | undefined {
    return this.#held.get(slot.name)?.value as T | undefined;
  }

  set<T>(slot: Slot<T>, value: T): void {
    const held = this.#held.get(slot.name);
    const before = held?.event === this.#event ? held.before : held?.value;
    this.#held.set(slot.name, { value, before, event: this.#event, slot });
  }

  getState(): StateTree {
    const saved = [...this.#held].filter(
      ([, { slot, value }]) => slot?.saved !== false && value !== undefined,
    );
    saved.sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(
      saved.map(([name, { slot, value }]) => [name, (slot?.save ? slot.save(value) : value) as StateTree]),
    );
  }

  setState(state: StateTree): void {
    this.#held.clear();
    for (const [name, value] of Object.entries(state as Readonly<Record<string, StateTree>>))
      this.#held.set(name, { value, before: value, event: -1, slot: undefined });
  }
}

function undeclared(hook: HookSettings, slot: Slot, does: string, field: string): EspalierError {
  return new EspalierError(
    "SLOT_UNDECLARED",
    `hook "${hook.name}" ${does} the slot "${slot.name}", which it does not declare`,
    { fix: `add the slot to the hook's \`${field}\`, so that the order of hooks follows from it` },
  );
}
