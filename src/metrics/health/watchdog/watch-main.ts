import type { lookAtMain } from "./look.ts";
import type { reportText, WatchdogReport } from "./report.ts";

/** What the watching thread is told. */
export interface WatchData {
  readonly board: Int32Array;
  readonly places: { readonly [place: string]: number };
  /** Phases by their number, and the deadline of each in seconds. */
  readonly phases: readonly string[];
  readonly deadlines: readonly (number | undefined)[];
  readonly events: readonly string[];
  readonly exit: boolean;
  readonly run: string;
  readonly pid: number;
}

/** What the function below is given: it must not use anything else. */
export interface WatchParts {
  /** Milliseconds. */
  readonly now: () => number;
  readonly repeat: (work: () => void, milliseconds: number) => void;
  readonly look: () => ReturnType<typeof lookAtMain>;
  readonly text: typeof reportText;
  /** Where the report goes: standard error, a file, the main thread. */
  readonly tell: (report: WatchdogReport) => void;
  /** Ends the process, through the main thread if that does it. */
  readonly end: (ask: (code: number) => void) => void;
}

/**
 * The work of the watching thread: looks at the board now and then, and reports a phase that has exceeded its deadline,
 * once. Time during which the whole process stood still (stopped by a signal, a machine asleep) does not count. It is
 * its text that runs there.
 */
export function watchMain(data: WatchData, { now, repeat, look, text, tell, end }: WatchParts): void {
  const { board, places, phases, deadlines, events, exit, run, pid } = data;
  const at = (place: string): number => Atomics.load(board, places[place] as number);
  const shortest = Math.min(...deadlines.map((seconds) => seconds ?? Number.POSITIVE_INFINITY)) * 1000;
  const tick = Math.min(500, Math.max(5, shortest / 10));
  let beats = -1;
  let elapsed = 0;
  let told = false;
  let last = now();

  const report = async (deadline: number): Promise<void> => {
    // Noted before the look, during which the main thread may go on.
    const seen = beats;
    const place = {
      ...{ run, pid, deadline, took: elapsed / 1000, epoch: at("epoch"), updates: at("updates") },
      phase: phases[at("phase")] as string,
      event: events[at("event")] as string,
    };
    const found = await look();
    const { doing, stack, details } = found;
    const parts = { ...place, doing, stack, details };
    const ends = exit && at("beats") === seen;
    const ending = ends
      ? "  the process is ended: code 124, or 137 where nothing but a signal can\n"
      : exit
        ? "  it has gone on meanwhile, so that the process does not end\n"
        : "";
    tell({ ...parts, text: text(parts) + ending });
    if (ends) end(found.exit);
    else found.release();
  };

  repeat(() => {
    const since = now() - last;
    last += since;
    if (at("beats") !== beats) {
      beats = at("beats");
      elapsed = 0;
      told = false;
      return;
    }
    elapsed += Math.min(since, 3 * tick);
    const deadline = deadlines[at("phase")];
    if (told || deadline === undefined || elapsed < deadline * 1000) return;
    told = true;
    void report(deadline);
  }, tick);
}
