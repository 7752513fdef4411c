import { cut, printable } from "../../core/index.ts";

/** Where lines go while something long runs. */
export interface StatusLine {
  /** What is happening now. */
  readonly say: (line: string) => void;
  /** To be called once, when it is over. */
  readonly end: () => void;
}

/** The part of a stream that is used: `process.stderr` has it. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const FRAMES = "|/-\\";
const FRAME_MS = 200;

/**
 * Shows what happens: on a terminal in one line that is written over and counts the seconds, elsewhere a line each.
 *
 * @example
 * ```ts
 * const status = statusLine(process.stderr);
 * status.say("Downloading");
 * status.end();
 * ```
 */
export function statusLine(stream: Terminal, now: () => number = () => performance.now()): StatusLine {
  if (!stream.isTTY)
    return { say: (line) => stream.write(`${printable(line, 1000)}\n`), end: () => undefined };
  const start = now();
  let current = "";
  let frame = 0;
  const draw = (): void => {
    const text = `${FRAMES[frame++ % FRAMES.length]} ${((now() - start) / 1000).toFixed(0)} s  ${current}`;
    stream.write(`\r\x1b[2K${cut(text, (stream.columns || 80) - 1, "")}`);
  };
  const timer = setInterval(draw, FRAME_MS);
  return {
    say: (line) => {
      current = printable(line.trim());
      draw();
    },
    end: () => {
      clearInterval(timer);
      stream.write("\r\x1b[2K");
    },
  };
}
