import type { HookDecision } from "../../hooks/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { DecisionRow } from "../store/stats-store.ts";

type Open = { -readonly [K in keyof DecisionRow]: DecisionRow[K] };

/** Decisions about hooks as runs of the same answer, however many there were. */
export class DecisionLog {
  readonly #open = new Map<string, Open>();
  #closed: DecisionRow[] = [];

  note({ hook, event, ran, why, counters: { steps } }: HookDecision): void {
    const key = `${hook} ${event}`;
    const open = this.#open.get(key);
    if (open && open.ran === ran && open.why === why) {
      open.toStep = steps;
      open.times++;
      return;
    }
    if (open) this.#closed.push(open);
    this.#open.set(key, { hook, event, ran, why, fromStep: steps, toStep: steps, times: 1 });
  }

  /** The runs that are over, each once. */
  take(): readonly DecisionRow[] {
    const closed = this.#closed;
    this.#closed = [];
    return closed;
  }

  /** All that are left: nothing more comes. */
  takeAll(): readonly DecisionRow[] {
    this.#closed.push(...this.#open.values());
    this.#open.clear();
    return this.take();
  }

  /** The runs that are not over: a resumed run goes on with them. */
  getState(): StateTree {
    return [...this.#open.values()].map((row) => ({ ...row }));
  }

  setState(state: StateTree): void {
    this.#closed = [];
    this.#open.clear();
    for (const row of state as unknown as readonly DecisionRow[])
      this.#open.set(`${row.hook} ${row.event}`, { ...row });
  }
}
