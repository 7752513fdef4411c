import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { EspalierError } from "../../../core/index.ts";
import { tsxFor } from "../../../engine/index.ts";
import { DONE, REQUEST, STATUS, statuses, type ThreadData } from "./protocol.ts";

/**
 * What a thread runs first. It is text, as file threads are, so that no file of its own has to be found; what it
 * imports is found from here. Node gives no thread the loader of TypeScript that its parent has.
 */
const source = `"use strict";
const { workerData } = require("node:worker_threads");
const { tsx, main, data } = workerData;
(async () => {
  if (tsx) {
    await import(tsx);
    (await import(new URL("./esm/api/index.mjs", tsx))).register();
  }
  await (await import(main)).environmentThread(data);
})().catch((error) => {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const fix = "make sure that the module and all it imports can be loaded by this Node";
  const text = "a thread of environments could not start: " + message;
  const cause = { name, message, stack };
  data.port.postMessage({ kind: "failed", error: { code: "ENVIRONMENT_FAILED", text, fix, cause } });
  Atomics.store(data.control, ${STATUS}, ${statuses.failed});
  Atomics.store(data.control, ${DONE}, Atomics.load(data.control, ${REQUEST}));
  Atomics.notify(data.control, ${DONE});
});`;

/** A thread with environments. It never keeps the process alive. */
export function startWorker(data: ThreadData): Worker {
  const main = threadMain();
  const files = typeof data.source === "string" ? [main] : [main, data.source.module];
  const worker = new Worker(source, {
    eval: true,
    execArgv: [],
    name: "espalier-environments",
    workerData: { main, data, tsx: tsxFor(files) },
    transferList: [data.port],
  });
  worker.unref();
  // Whoever waits for the thread sees that it is gone.
  worker.on("error", () => undefined);
  return worker;
}

const isTypeScript = (file: string): boolean => /\.[cm]?tsx?$/.test(file);

/** The file that a thread's work is in: beside this one in a checkout, and in the package once it is built. */
function threadMain(): string {
  const here = import.meta.url;
  if (isTypeScript(here)) return new URL("./thread-main.ts", here).href;
  try {
    const manifest = createRequire(here).resolve("espalier/package.json");
    return new URL("./dist/rl/vector/threads/thread-main.js", pathToFileURL(manifest)).href;
  } catch (cause) {
    throw new EspalierError("THREAD_MISSING", "the file for threads of environments cannot be found", {
      fix: "leave the package espalier out of the bundle, so that threads can load it",
      cause,
    });
  }
}
