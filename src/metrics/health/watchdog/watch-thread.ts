import { createRequire } from "node:module";
import { isMainThread, Worker } from "node:worker_threads";
import { trainerEvents } from "../../../trainer/index.ts";
import { type Board, phases, places } from "./board.ts";
import { endProcess } from "./end-process.ts";
import { lookAtMain } from "./look.ts";
import type { WatchdogPlan } from "./options.ts";
import { reportText, type WatchdogReport } from "./report.ts";
import { type WatchData, watchMain } from "./watch-main.ts";

/** Milliseconds for which the main thread may take to answer. */
const patience = 2000;

// Its text, because a file of its own would have to be found from source, from the built package, and from whatever a
// user's bundler makes of it. Some compilers wrap functions in calls of __name, which only keep their names.
const source = `"use strict";
const __name = (value) => value;
const { workerData, parentPort } = require("node:worker_threads");
const fs = require("node:fs");
const { data, file, koffi, isMain } = workerData;
const attempt = (work) => { try { work(); } catch {} };
const open = () => {
  if (!isMain) throw new Error("training runs in a worker thread");
  const { Session } = require("node:inspector");
  const session = new Session();
  session.connectToMainThread();
  return session;
};
const exitNow = koffi === undefined || process.platform === "win32"
  ? undefined
  : () => require(koffi).load(null).func("void _exit(int)")(124);
(${watchMain})(data, {
  now: () => performance.now(),
  repeat: setInterval,
  look: () => (${lookAtMain})(open, ${patience}),
  text: ${reportText},
  tell: (report) => {
    // Not process.stderr, which in a worker goes through the main thread.
    attempt(() => fs.writeSync(2, report.text));
    if (file !== undefined) attempt(() => {
      fs.mkdirSync(require("node:path").dirname(file), { recursive: true });
      fs.appendFileSync(file, report.text);
    });
    parentPort.postMessage(report);
  },
  end: (ask) => (${endProcess})(ask, {
    exitNow,
    kill: () => process.kill(process.pid, "SIGKILL"),
    later: setTimeout,
  }),
});`;

export interface WatchThreadOptions {
  readonly plan: WatchdogPlan;
  readonly board: Board;
  readonly run: string;
  readonly warn: (text: string) => void;
}

/** Starts the thread that watches. It never keeps the process alive. Gives what ends it. */
export function watchThread({ plan, board, run, warn }: WatchThreadOptions): () => Promise<unknown> {
  const { deadlines, exit, file, onReport } = plan;
  const data: WatchData = {
    ...{ board: board.shared, places, phases, events: trainerEvents, exit, run, pid: process.pid },
    deadlines: phases.map((phase) => {
      if (phase === "off") return undefined;
      return phase === "other" ? deadlines.any : (deadlines[phase] ?? deadlines.any);
    }),
  };
  const worker = new Worker(source, {
    eval: true,
    execArgv: [],
    name: "espalier-watchdog",
    workerData: { data, file, koffi: koffiPath(), isMain: isMainThread },
  });
  worker.unref();
  worker.on("message", (report: WatchdogReport) => {
    try {
      onReport?.(report);
    } catch (cause) {
      warn(`onExceeded failed: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  });
  worker.on("error", (error) => warn(`nobody watches any more: ${(error as Error).message}`));
  return () => worker.terminate();
}

/** Where koffi lies, for the other thread to load it; undefined where it is not installed. */
function koffiPath(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve("koffi");
  } catch {
    return undefined;
  }
}
