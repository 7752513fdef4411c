import { writeSync } from "node:fs";
import { Socket } from "node:net";
import type { ConsoleStream } from "./outlet.ts";

/** What is needed to write to a pipe and to wait for its reader. */
export interface DirectParts {
  /** As that of node:fs: writes what the pipe has room for, or throws EAGAIN where it has none. */
  readonly writeSync: (file: number, bytes: Uint8Array, from: number) => number;
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => void;
}

const nobody = new Int32Array(new SharedArrayBuffer(4));

const systemParts: DirectParts = {
  writeSync,
  now: () => performance.now(),
  sleep: (milliseconds) => void Atomics.wait(nobody, 0, 0, milliseconds),
};

/** Milliseconds that readers are waited for, and which share of the time is given on top. */
const patience = 5000;
const share = 0.01;

/**
 * Writes to a pipe at once, so that nothing is lost with the process: a stream keeps to itself what a full pipe does
 * not take. A reader that is behind is waited for, as programs do; one that has stopped costs a few seconds, and then
 * no more than a hundredth of the time. What is not taken until then is the answer. Throws where nobody reads any more.
 */
export function directWriter(file: number, parts: DirectParts = systemParts): (text: string) => Uint8Array {
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

/** The pipe behind a stream, if there is one. Files and terminals are written to at once anyway. */
export function pipeBehind(stream: ConsoleStream): number | undefined {
  if (process.platform === "win32" || stream.isTTY || !(stream instanceof Socket)) return undefined;
  return "fd" in stream && typeof stream.fd === "number" ? stream.fd : undefined;
}
