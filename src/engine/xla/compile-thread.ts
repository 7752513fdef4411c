import { node } from "../../core/index.ts";

/** Index in the shared memory of the number of begins and ends: odd during a compilation. */
export const TURN = 0;
/** Index in the shared memory of the flag for a line on the terminal: 1, else 0. */
export const SHOWN = 1;

/** A message to the thread: what is compiled from now on. */
export interface Compilation {
  /** Printable, and short enough for one line of the terminal. */
  readonly name: string;
  /** When it began, in milliseconds since 1970. */
  readonly since: number;
  /** Milliseconds from one count to the next. */
  readonly interval: number;
}

/** Sleeps until something is compiled, then counts on standard error until it is done, and so on. Never returns. */
export function runThread(control: Int32Array): void {
  let newest: Compilation | undefined;
  for (;;) {
    const turn = Atomics.load(control, TURN);
    newest = newestMessage() ?? newest;
    if (turn % 2 === 0 || newest === undefined) Atomics.wait(control, TURN, turn);
    else count(control, turn, newest);
  }
}

/** Messages are sent before the turn changes; those of compilations that are over are passed by. */
function newestMessage(): Compilation | undefined {
  let newest: Compilation | undefined;
  if (node.workerThreads.parentPort === null) return undefined;
  for (
    let found = node.workerThreads.receiveMessageOnPort(node.workerThreads.parentPort);
    found;
    found = node.workerThreads.receiveMessageOnPort(node.workerThreads.parentPort)
  )
    newest = found.message;
  return newest;
}

function count(control: Int32Array, turn: number, { name, since, interval }: Compilation): void {
  const elapsed = (): number => performance.timeOrigin + performance.now() - since;
  let counted = 0;
  let written = false;
  for (;;) {
    counted = Math.max(counted, Math.floor(elapsed() / interval)) + 1;
    const left = Math.max(0, counted * interval - elapsed());
    if (Atomics.wait(control, TURN, turn, left) !== "timed-out") break;
    // In this order: either the other thread sees that a line is shown, or this one that there is nothing to show.
    Atomics.store(control, SHOWN, 1);
    if (Atomics.load(control, TURN) !== turn) break;
    written = true;
    write(`\r\x1b[Kcompiling ${name}, ${counted} s`);
  }
  if (written) write("\r\x1b[K");
  Atomics.store(control, SHOWN, 0);
  Atomics.notify(control, SHOWN);
}

function write(text: string): void {
  try {
    node.fs.writeSync(2, text);
  } catch {
    // A terminal that is gone or takes nothing now: the next count is written again.
  }
}
