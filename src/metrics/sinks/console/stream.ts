import { node, printable } from "../../../core/index.ts";

/**
 * A stream that may be a terminal: `process.stdout`, `process.stderr` and every `Writable` of Node. Declared here
 * because the package's public types do not depend on those of Node.
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

/** Writes to a stream whose reader may go away: that is no error. */
export interface Output {
  /** True where earlier text still waits for the reader, or the reader has gone. */
  readonly blocked: boolean;
  /** Returns a promise where the reader is slow: it resolves once the text is written. */
  write(text: string): undefined | Promise<void>;
  /** Waits until everything is written. The stream is not ended: others write to it too. */
  close(): Promise<void>;
}

/** Errors of a reader that has enough, like `head`. */
const readerGone = ["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END", "EOF"];

/** Nothing is written after the first error: a stream that has failed keeps everything in memory. */
export function outputTo(stream: ConsoleStream): Output {
  const pipe = pipeOf(stream);
  const direct = pipe === undefined ? undefined : pipeWriter(pipe);
  let hasFailed = false;
  let isListening = false;
  let pending = 0;
  let waiting: (() => void)[] = [];

  // The events of a stream come after this turn; its properties change before.
  const isGone = (): boolean =>
    hasFailed || stream.destroyed || stream.writableEnded || stream.errored !== null;
  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  };
  const idle = (): Promise<void> =>
    pending === 0 || hasFailed ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve));
  const fail = (error: NodeJS.ErrnoException): void => {
    if (!hasFailed && !readerGone.includes(error.code ?? ""))
      process.emitWarning(
        `consoleSink: its stream failed, so that nothing more is shown: ${printable(error.message)}`,
        "EspalierWarning",
      );
    hasFailed = true;
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
        // Errors come as events, also later. Without a listener one would end the process.
        if (!isListening) stream.on("error", fail);
        isListening = true;
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
      if (!isListening) return;
      // The event of a failed write comes after its callback.
      await new Promise(setImmediate);
      stream.off("error", fail);
      isListening = false;
    },
  };
}

/** The file descriptor of the pipe behind a stream. Files and terminals are written to synchronously anyway. */
export function pipeOf(stream: ConsoleStream): number | undefined {
  const { Socket } = node.net;
  if (process.platform === "win32" || stream.isTTY || !(stream instanceof Socket)) return undefined;
  return "fd" in stream && typeof stream.fd === "number" ? stream.fd : undefined;
}

/** Functions of the system that {@link pipeWriter} calls. */
export interface PipeSystem {
  /** As that of node:fs: writes what the pipe has room for, or throws EAGAIN where it has none. */
  readonly writeSync: (file: number, bytes: Uint8Array, from: number) => number;
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => void;
}

const system: PipeSystem = {
  writeSync: (file, bytes, from) => node.fs.writeSync(file, bytes, from),
  now: () => performance.now(),
  // Nothing ever notifies it.
  sleep: (milliseconds) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds),
};

/** Milliseconds for which readers are waited for, and the share of the time that is added. */
const patience = 5000;
const share = 0.01;

/**
 * Writes to a pipe synchronously, so that nothing is lost with the process: a stream keeps in memory what a full pipe
 * does not take. It waits for a reader that is behind; one that has stopped costs a few seconds, and then no more than a
 * hundredth of the time. Returns what was not written until then. Throws where the reader has gone.
 */
export function pipeWriter(file: number, parts: PipeSystem = system): (text: string) => Uint8Array {
  let left = patience;
  let before = parts.now();
  return (text) => {
    const bytes = Buffer.from(text);
    const started = parts.now();
    left = Math.min(patience, left + share * (started - before));
    let at = 0;
    let pause = 1;
    while (at < bytes.length)
      try {
        at += parts.writeSync(file, bytes, at);
        pause = 1;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
        if (parts.now() - started >= left) break;
        parts.sleep(pause);
        pause = Math.min(2 * pause, 16);
      }
    before = parts.now();
    left = Math.max(0, left - (before - started));
    return bytes.subarray(at);
  };
}
