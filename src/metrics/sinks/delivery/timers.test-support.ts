import { type ManualClock, manualClock } from "../../../core/index.ts";
import type { Timers } from "./delivery.ts";

export interface ManualTimers extends Timers {
  readonly clock: ManualClock;
  /** Lets time pass: what is due by then is called when it is due, and promises settle in between. */
  pass(milliseconds: number): Promise<void>;
  /** For how long timers were set, in order. */
  readonly waits: number[];
}

/** Lets promises settle that are settled without further ado. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/** Timers that go by a clock which stands still until it is told to move. */
export function manualTimers(): ManualTimers {
  const clock = manualClock();
  const timers = new Set<{ readonly at: number; readonly action: () => void }>();
  const waits: number[] = [];
  return {
    clock,
    waits,
    set(action, milliseconds) {
      const timer = { at: clock.now() + milliseconds, action };
      waits.push(milliseconds);
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async pass(milliseconds) {
      const end = clock.now() + milliseconds;
      await settle();
      for (;;) {
        const next = [...timers].sort((a, b) => a.at - b.at)[0];
        if (!next || next.at > end) break;
        timers.delete(next);
        clock.advance(next.at - clock.now());
        next.action();
        await settle();
      }
      clock.advance(end - clock.now());
    },
  };
}
