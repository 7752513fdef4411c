/** What the main thread was found doing. */
export interface Look {
  /**
   * `javascript`: code runs, and the stack says which. `waiting`: none runs, and the thread waits for something.
   * `native`: it does not answer. `unknown`: it could not be looked at.
   */
  readonly doing: "javascript" | "waiting" | "native" | "unknown";
  /** Innermost first. */
  readonly stack: readonly string[];
  /** What it waits for, as Node calls it; or why it could not be looked at. */
  readonly details: string;
}

/** A phase that exceeded its deadline. */
export interface WatchdogReport extends Look {
  readonly phase: string;
  /** The last event that was heard of. */
  readonly event: string;
  /** In seconds. */
  readonly took: number;
  readonly deadline: number;
  readonly epoch: number;
  readonly updates: number;
  readonly run: string;
  readonly pid: number;
  /** All of it in words, as it was written. */
  readonly text: string;
}

/** The report in words. Its text runs in the watching thread, so that it uses nothing from outside. */
export function reportText(report: Omit<WatchdogReport, "text">): string {
  const { phase, event, took, deadline, epoch, updates, run, pid, doing, stack, details } = report;
  const names: Readonly<Record<string, string>> = {
    hook: `hooks of ${event} have`,
    other: `nothing has been heard since ${event}, which has`,
  };
  const found: Readonly<Record<typeof doing, string>> = {
    javascript: "the main thread runs JavaScript:",
    waiting: `no JavaScript runs: the main thread waits (${details || "for nothing that Node knows: a promise that nobody resolves"})`,
    native:
      "no JavaScript runs: the main thread is in native code, such as the engine, a driver or a synchronous system call, and does not answer",
    unknown: `what the main thread does is not known: ${details}`,
  };
  return [
    `espalier watchdog: ${names[phase] ?? `${phase} has`} taken ${took.toFixed(1)} s, more than ${deadline} s`,
    `  run ${run}, process ${pid}, epoch ${epoch}, ${updates} updates; last event: ${event}`,
    `  ${found[doing]}`,
    ...stack.map((frame) => `    at ${frame}`),
    "",
  ].join("\n");
}
