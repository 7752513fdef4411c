import type { Debugger, Runtime, Session } from "node:inspector";

// The watching thread of a watchdog: see watchdog.ts for how the two work together. It imports nothing of ours, so that
// it is up within milliseconds.

/** The main thread as it was found. */
export interface Look {
  /**
   * `javascript`: code runs, and the stack says which. `waiting`: none runs, and the thread waits for something.
   * `native`: it does not answer. `unknown`: it could not be looked at.
   */
  readonly doing: "javascript" | "waiting" | "native" | "unknown";
  /** Innermost first. */
  readonly stack: readonly string[];
  /** The resources it waits for, as Node calls them; or why it could not be looked at. */
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

/** Data of the watching thread. */
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
  /** Reports are added to it. */
  readonly file: string | undefined;
  /** Training runs in the process's main thread: only that one can be looked at. */
  readonly isMain: boolean;
}

/** Milliseconds for which the main thread may take to answer. */
const patience = 2000;

/** Watches until the thread is ended. */
export function runThread(data: WatchData): void {
  watchMain(data, {
    now: () => performance.now(),
    repeat: (work, milliseconds) => void setInterval(work, milliseconds),
    look: () => lookAtMain(() => openSession(data.isMain)),
    tell: (report) => tell(report, data.file),
    end: (exit) => endProcess(exit, setTimeout),
  });
}

/** Parts of the watching that tests replace. */
export interface WatchParts {
  /** Milliseconds. */
  readonly now: () => number;
  readonly repeat: (work: () => void, milliseconds: number) => void;
  readonly look: () => Promise<Looked>;
  readonly tell: (report: WatchdogReport) => void;
  /** Ends the process, through the main thread where that answers. */
  readonly end: (exit: Looked["exit"]) => void;
}

/**
 * Looks at the board now and then, and reports a phase that has exceeded its deadline, once. Time during which the whole
 * process stood still (stopped by a signal, a machine asleep) does not count.
 */
export function watchMain(data: Omit<WatchData, "file" | "isMain">, parts: WatchParts): void {
  const { board, places, phases, deadlines, events, exit, run, pid } = data;
  const { now, repeat, look, tell, end } = parts;
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
      run,
      pid,
      deadline,
      took: elapsed / 1000,
      epoch: at("epoch"),
      updates: at("updates"),
      phase: phases[at("phase")] as string,
      event: events[at("event")] as string,
    };
    const found = await look();
    const { doing, stack, details } = found;
    const ends = exit && at("beats") === seen;
    const ending = ends
      ? "  the process is ended: code 124, or 137 where nothing but a signal can\n"
      : exit
        ? "  it has gone on meanwhile, so that the process does not end\n"
        : "";
    const known = { ...place, doing, stack, details };
    tell({ ...known, text: reportText(known) + ending });
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

function reportText(report: Omit<WatchdogReport, "text">): string {
  const { phase, event, took, deadline, epoch, updates, run, pid, doing, stack, details } = report;
  const names: Readonly<Record<string, string>> = {
    hook: `hooks of ${event} have`,
    other: `nothing has been heard since ${event}, which has`,
  };
  const found: Readonly<Record<typeof doing, string>> = {
    javascript: "the main thread runs JavaScript:",
    waiting: `no JavaScript runs: the main thread waits (${details || "for nothing that Node knows: a promise that is never resolved"})`,
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

/** Writes a report to standard error and the file, and hands it to the main thread for when that is free. */
function tell(report: WatchdogReport, file: string | undefined): void {
  const { appendFileSync, writeSync } = process.getBuiltinModule("node:fs");
  const attempt = (write: () => void): void => {
    try {
      write();
    } catch {
      // There is nowhere left to say it.
    }
  };
  // Not process.stderr, which in a worker goes through the main thread.
  attempt(() => writeSync(2, report.text));
  if (file !== undefined) attempt(() => appendFileSync(file, report.text));
  process.getBuiltinModule("node:worker_threads").parentPort?.postMessage(report);
}

/** A look at the main thread, and the way to end the process through it. */
export interface Looked extends Look {
  /** Asks the main thread to exit; without its exit handlers where these take too long. Throws where it cannot. */
  exit(code: number): void;
  /** Lets it go on. */
  release(): void;
}

function openSession(isMain: boolean): Session {
  if (!isMain) throw new Error("training runs in a worker thread");
  const { Session } = process.getBuiltinModule("node:inspector");
  const session = new Session();
  session.connectToMainThread();
  return session;
}

/**
 * Stops the main thread through Node's inspector and reads its stack. That works in the middle of an endless loop and of
 * a blocked `Atomics.wait`; a thread in native code does not answer.
 */
async function lookAtMain(open: () => Session): Promise<Looked> {
  const noAnswer = (): never => {
    throw new Error("the main thread does not answer");
  };
  const nothing = { stack: [], details: "", exit: noAnswer, release: () => undefined };
  let session: Session;
  try {
    session = open();
  } catch (cause) {
    return { ...nothing, doing: "unknown", details: String(cause) };
  }
  const release = (): void => session.disconnect();
  const urls = new Map<string, string>();
  let paused: (frames: readonly Debugger.CallFrame[]) => void = () => undefined;
  let early: readonly Debugger.CallFrame[] | undefined;
  session.on("Debugger.scriptParsed", ({ params }) => urls.set(params.scriptId, params.url));
  session.on("Debugger.paused", ({ params }) => {
    early = params.callFrames;
    paused(params.callFrames);
  });
  session.post("Debugger.enable");
  const answered = await within<boolean>(patience, (done) =>
    session.post("Debugger.pause", () => done(true)),
  );
  if (!answered) return { ...nothing, release, doing: "native" };
  // Code that runs stops at once; a thread that waits would stop when it next has something to do.
  const frames = await within<readonly Debugger.CallFrame[]>(patience / 4, (done) => {
    paused = done;
    if (early) done(early);
  });
  const first = frames?.[0];
  if (frames && first) {
    const stack = frames.map(({ functionName, url, location }) => {
      const where = url || urls.get(location.scriptId) || "native";
      return `${functionName || "<anonymous>"} (${where}:${location.lineNumber + 1}:${(location.columnNumber ?? 0) + 1})`;
    });
    const { callFrameId } = first;
    const evaluate: Evaluate = (options, done) =>
      session.post("Debugger.evaluateOnCallFrame", { callFrameId, ...options }, done);
    return { doing: "javascript", stack, details: "", exit: exitBy(evaluate), release };
  }
  session.post("Debugger.disable");
  const evaluate: Evaluate = (options, done) => session.post("Runtime.evaluate", options, done);
  const resources = await within<unknown>(patience, (done) => {
    const expression = '[...new Set(process.getActiveResourcesInfo())].join(", ")';
    evaluate({ expression, returnByValue: true }, (_error, given) => done(given?.result.value));
  });
  return { doing: "waiting", stack: [], details: String(resources ?? ""), exit: exitBy(evaluate), release };
}

type Evaluate = (
  options: { readonly expression: string; readonly returnByValue?: boolean; readonly timeout?: number },
  done: (error: Error | null, given?: Runtime.EvaluateReturnType) => void,
) => void;

/** Has the main thread exit: with its exit handlers, which are broken off after a while, then without them. */
const exitBy =
  (evaluate: Evaluate) =>
  (code: number): void =>
    evaluate({ expression: `globalThis.process.exit(${code})`, timeout: patience }, () =>
      evaluate({ expression: `globalThis.process.reallyExit(${code})` }, () => undefined),
    );

/** The value that a callback gets, or undefined when it takes too long. */
function within<T>(milliseconds: number, begin: (done: (value: T) => void) => void): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), milliseconds);
    begin((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}

/**
 * Ends the process from another thread: the main thread is asked to exit with code 124. Where it cannot be asked, or has
 * not done it after a while, SIGKILL ends the process, and the code is 137.
 */
export function endProcess(
  exit: Looked["exit"],
  later: (work: () => void, milliseconds: number) => unknown,
  kill: () => void = () => process.kill(process.pid, "SIGKILL"),
): void {
  try {
    exit(124);
    later(kill, 2 * patience);
  } catch {
    kill();
  }
}
