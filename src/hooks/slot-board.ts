import { EspalierError } from "../core/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { HookSettings } from "./hook.ts";
import type { Slot, SlotAccess } from "./slot.ts";

interface Place {
  value: unknown;
  /** What it was before the event in which it was last set. */
  before: unknown;
  event: number;
  saved: boolean;
  save: ((value: never) => unknown) | undefined;
}

/** Where shared values lie. Its state is the newest value of every saved slot. */
export class SlotBoard implements Stateful {
  /** Called with every value that is set. */
  told: ((slot: Slot, value: unknown) => void) | undefined;
  readonly #places = new Map<string, Place>();
  readonly #hooks: () => readonly HookSettings[];
  #event = 0;

  /** `hooks` gives those that are registered now. */
  constructor(hooks: () => readonly HookSettings[] = () => []) {
    this.#hooks = hooks;
  }

  /** A new event: what lies here now is what `previous` gives. */
  begin(): void {
    this.#event++;
  }

  /** A hook's way to the slots it declared, and those that hooks it is a child of did. */
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
      previous: (slot) => {
        const place = this.#places.get(slot.name);
        // Only ever set by `set`, which takes values of the slot's type.
        return (place?.event === this.#event ? place.before : place?.value) as never;
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
    return this.#places.get(slot.name)?.value as T | undefined;
  }

  set<T>(slot: Slot<T>, value: T): void {
    const place = this.#places.get(slot.name);
    if (!place) {
      this.#places.set(slot.name, {
        value,
        before: undefined,
        event: this.#event,
        saved: slot.saved,
        save: slot.save,
      });
      return;
    }
    if (place.event !== this.#event) place.before = place.value;
    place.value = value;
    place.event = this.#event;
    // A restored value came without its slot.
    place.save = slot.save;
  }

  getState(): StateTree {
    const saved = [...this.#places].filter(([, { saved, value }]) => saved && value !== undefined);
    saved.sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(
      saved.map(([name, { value, save }]) => [name, (save ? save(value as never) : value) as StateTree]),
    );
  }

  setState(state: StateTree): void {
    this.#places.clear();
    for (const [name, value] of Object.entries(state as Readonly<Record<string, StateTree>>))
      this.#places.set(name, { value, before: value, event: -1, saved: true, save: undefined });
  }
}

function undeclared(hook: HookSettings, slot: Slot, does: string, field: string): EspalierError {
  return new EspalierError(
    "SLOT_UNDECLARED",
    `hook "${hook.name}" ${does} the slot "${slot.name}", which it does not declare`,
    { fix: `add the slot to the hook's \`${field}\`, so that the order of hooks follows from it` },
  );
}
