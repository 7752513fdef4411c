import { printable } from "../../../core/index.ts";
import { directWriter, pipeBehind } from "./direct.ts";

/**
 * A stream that may be a terminal: `process.stdout`, `process.stderr` and every `Writable` of Node are such. It is said
 * in its own terms, because the package's types stand without those of Node.
 */
export interface ConsoleStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableLength: number;
  readonly errored: Error | null;
  write(text: string | Uint8Array, written: () => void): boolean;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
}

/** A stream that may go away: whoever writes to it is neither told nor stopped. */
export interface Outlet {
  /** Whether what was written before still waits for a reader, or nobody reads any more. */
  readonly blocked: boolean;
  /** A promise where the reader is slow: it resolves once the text is out. */
  write(text: string): undefined | Promise<void>;
  /** Waits until all is out, and leaves the stream as it was. It is not ended: others write to it too. */
  close(): Promise<void>;
}

// A reader that has enough, like `head`: no fault of anybody's.
const quiet = ["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END", "EOF"];

/** After the first error nothing is written any more: a stream that has failed keeps all it gets in memory. */
export function outletOf(stream: ConsoleStream): Outlet {
  const pipe = pipeBehind(stream);
  const direct = pipe === undefined ? undefined : directWriter(pipe);
  let gone = false;
  let listening = false;
  let pending = 0;
  let waiting: (() => void)[] = [];

  // What has happened to the stream is heard of only once this turn is over; it can be seen before.
  const isGone = (): boolean => gone || stream.destroyed || stream.writableEnded || stream.errored !== null;
  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  };
  const idle = (): Promise<void> =>
    pending === 0 || gone ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve));
  const fail = (error: NodeJS.ErrnoException): void => {
    if (!gone && !quiet.includes(error.code ?? ""))
      process.emitWarning(
        `consoleSink: its stream failed, so that nothing more is shown: ${printable(error.message)}`,
        "EspalierWarning",
      );
    gone = true;
    wake();
  };
  const written = (): void => {
    pending--;
    if (pending === 0) wake();
  };

  return {
    get blocked() {
      return isGone() || stream.writableLength > 0;
    },
    write(text) {
      if (isGone()) return undefined;
      try {
        // What others wrote and still waits comes first.
        const rest = direct && stream.writableLength === 0 ? direct(text) : text;
        if (rest.length === 0) return undefined;
        // Errors come as events, also later. One that nobody listens to would end the process.
        if (!listening) stream.on("error", fail);
        listening = true;
        pending++;
        stream.write(rest, written);
        return stream.writableLength === 0 ? undefined : idle();
      } catch (error) {
        fail(error as NodeJS.ErrnoException);
        return undefined;
      }
    },
    async close() {
      await idle();
      if (!listening) return;
      // The event of a failed write comes after its callback.
      await new Promise(setImmediate);
      stream.off("error", fail);
      listening = false;
    },
  };
}
