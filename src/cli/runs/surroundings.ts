import { setTimeout as wait } from "node:timers/promises";
import { type Clock, systemClock } from "../../core/index.ts";
import type { StatsStore } from "../../metrics/index.ts";
import { type Output, outputTo } from "./output.ts";

/** What these commands need of the process they run in. */
export interface Surroundings {
  readonly out: Output;
  readonly err: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Pick<Clock, "wall">;
  /** Opens a store that is there: reading makes none. */
  openStore(location: string): Promise<StatsStore>;
  /** Resolves after so many milliseconds, or when the signal says so. */
  pause(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** Aborted by Ctrl-C. `stop` gives Ctrl-C its usual meaning back. */
  interrupts(): { readonly signal: AbortSignal; stop(): void };
}

/** The process as it is. */
export function thisProcess(): Surroundings {
  let out: Output | undefined;
  let err: Output | undefined;
  return {
    // Made when used: other commands keep the streams as they are.
    get out() {
      out ??= outputTo(process.stdout);
      return out;
    },
    get err() {
      err ??= outputTo(process.stderr);
      return err;
    },
    env: process.env,
    clock: systemClock,
    // Databases are opened by these commands alone: the others start faster without.
    openStore: async (location) =>
      (await import("../../metrics/index.ts")).openStatsStore(location, { create: false }),
    pause: (milliseconds, signal) => wait(milliseconds, undefined, { signal }).catch(() => undefined),
    interrupts: () => {
      const controller = new AbortController();
      const abort = (): void => controller.abort();
      process.once("SIGINT", abort);
      return { signal: controller.signal, stop: () => void process.off("SIGINT", abort) };
    },
  };
}
