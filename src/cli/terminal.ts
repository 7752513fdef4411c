import { existsSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import pc from "picocolors";
import { type Clock, cut, EspalierError, printable, systemClock } from "../core/index.ts";
import type { StatsStore } from "../metrics/index.ts";

/** The parts of the process that commands use. Tests bring others. */
export interface Surroundings {
  readonly out: Output;
  readonly err: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Pick<Clock, "wall">;
  /** Opens a store that is there: reading makes none. */
  openStore(location: string): Promise<StatsStore>;
  /** Resolves after this many milliseconds, or when the signal is aborted. */
  pause(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** Aborted by Ctrl-C, or by the signals given. `stop` gives them their usual meaning back. */
  interrupts(signals?: readonly NodeJS.Signals[]): { readonly signal: AbortSignal; stop(): void };
}

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
      (await import("../metrics/index.ts")).openStatsStore(location, { create: false }),
    pause: (milliseconds, signal) => wait(milliseconds, undefined, { signal }).catch(() => undefined),
    interrupts: (signals = ["SIGINT"]) => {
      const controller = new AbortController();
      const abort = (): void => controller.abort();
      for (const name of signals) process.once(name, abort);
      return {
        signal: controller.signal,
        stop: () => {
          for (const name of signals) process.off(name, abort);
        },
      };
    },
  };
}

export interface Output {
  readonly isTTY: boolean;
  /** Of the terminal; undefined elsewhere. */
  readonly columns: number | undefined;
  readonly rows?: number | undefined;
  /** Resolves when there is room for more. */
  write(text: string | Uint8Array): Promise<void>;
  /** Aborted when its reader has gone, as `head` does: then there is nothing left to do. */
  readonly gone: AbortSignal;
}

/** Prints to a stream such as `process.stdout`. A reader that goes away is no failure. */
export function outputTo(stream: NodeJS.WriteStream): Output {
  const gone = new AbortController();
  let failure: Error | undefined;
  const noted = (error: NodeJS.ErrnoException): void => {
    if (error.code !== "EPIPE") failure ??= error;
    gone.abort();
  };
  stream.on("error", noted);
  return {
    get isTTY() {
      return stream.isTTY === true;
    },
    get columns() {
      return stream.isTTY ? stream.columns : undefined;
    },
    get rows() {
      return stream.isTTY ? stream.rows : undefined;
    },
    gone: gone.signal,
    write: (text) =>
      new Promise((resolve, reject) => {
        // The stream tells of a failure here first, and of one between two calls by its event.
        const settle = (error?: Error | null): void => {
          if (error) noted(error);
          if (failure) reject(failure);
          else resolve();
        };
        if (gone.signal.aborted) settle();
        else stream.write(text, settle);
      }),
  };
}

export interface Style {
  readonly colors: ReturnType<typeof pc.createColors>;
  /** No characters beyond ASCII. */
  readonly ascii: boolean;
  /** Characters a line can have. */
  readonly width: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const WIDTH = 100;

/** Colours on terminals alone, blocks wherever the locale has them. */
export function styleFor(
  out: { readonly isTTY: boolean; readonly columns: number | undefined },
  env: Environment,
  ascii: boolean,
): Style {
  const colored = out.isTTY && !env.NO_COLOR && env.TERM !== "dumb";
  return {
    colors: pc.createColors(colored),
    ascii: ascii || !knowsUnicode(env),
    width: out.columns || WIDTH,
  };
}

/** By the locale, where one is set; else all but terminals that are known to lack the letters. */
export function knowsUnicode(env: Environment, platform: string = process.platform): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG;
  if (locale) return /utf-?8/i.test(locale);
  if (platform === "win32") return Boolean(env.WT_SESSION || env.TERM_PROGRAM);
  return env.TERM !== "linux" && env.TERM !== "dumb";
}

/** The part of a stream that is used: `process.stderr` has it. */
interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const FRAMES = "|/-\\";
const FRAME_MS = 200;

/** Shows what happens: on a terminal in one line that is written over and counts the seconds, elsewhere a line each. */
export function statusLine(stream: Terminal, now: () => number = () => performance.now()) {
  if (!stream.isTTY)
    return { say: (line: string) => void stream.write(`${printable(line, 1000)}\n`), end: () => undefined };
  const start = now();
  let current = "";
  let frame = 0;
  const draw = (): void => {
    const text = `${FRAMES[frame++ % FRAMES.length]} ${((now() - start) / 1000).toFixed(0)} s  ${current}`;
    stream.write(`\r\x1b[2K${cut(text, (stream.columns || 80) - 1, "")}`);
  };
  const timer = setInterval(draw, FRAME_MS);
  return {
    say: (line: string) => {
      current = printable(line.trim());
      draw();
    },
    /** To be called once, when it is over. */
    end: () => {
      clearInterval(timer);
      stream.write("\r\x1b[2K");
    },
  };
}

/** Exit codes by the signal that asked for the end. */
export const signalCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/** Aborted by SIGTERM and Ctrl-C; a second one ends the process. */
export function leaveOnSignals(who: "worker" | "evaluator"): AbortSignal {
  const leaving = new AbortController();
  const told = (signal: string): EspalierError =>
    new EspalierError(
      who === "worker" ? "WORKER_LEAVES" : "EVALUATOR_LEAVES",
      `it was told to leave: ${signal}`,
    );
  for (const [signal, code] of Object.entries(signalCodes))
    process.once(signal, () => {
      process.exitCode = code;
      leaving.abort(told(signal));
      process.once(signal, () => process.exit(code));
    });
  return leaving.signal;
}

/** Refuses to write over a file that is there. */
export function checkFree(file: string, force = false): void {
  if (force || !existsSync(file)) return;
  throw new EspalierError("EXPORT_EXISTS", `${file} is there already`, {
    fix: "give another name, or --force to write over it",
  });
}

/** Addresses of this machine that others may reach. */
export const ownAddresses = (): readonly string[] => {
  const all = Object.values(networkInterfaces()).flatMap((those = []) => those);
  const others = all.filter(({ internal, family }) => !internal && family === "IPv4");
  return [...new Set(others.map(({ address }) => address))];
};
