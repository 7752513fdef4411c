import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { EspalierError } from "../../core/index.ts";

const isTypeScript = (file: string): boolean => /\.[cm]?tsx?$/.test(file);

/**
 * The program that a thread begins with: it imports `main` and calls its `runThread`. Node does not hand the loader of
 * TypeScript on to threads, so it is registered here, where one is needed.
 */
const source = `"use strict";
const { tsx, main, data } = require("node:worker_threads").workerData;
(async () => {
  if (tsx) {
    await import(tsx);
    (await import(new URL("./esm/api/index.mjs", tsx))).register();
  }
  (await import(main)).runThread(data);
})().catch((error) => setImmediate(() => { throw error; }));`;

/**
 * Starts a thread that runs the `runThread(data)` of one of our files: `path` is its place under src, without its
 * extension, which the build keeps in dist (tsdown.config.ts lists it). The thread never keeps the process alive.
 */
export function startThread(path: string, name: string, data: unknown): Worker {
  const here = import.meta.url;
  const main = isTypeScript(here)
    ? new URL(`../../${path}.ts`, here).href
    : new URL(`./dist/${path}.js`, pathToFileURL(createRequire(here).resolve("espalier/package.json"))).href;
  const workerData = { main, data, tsx: tsxFor([main]) };
  const worker = new Worker(source, { eval: true, execArgv: [], name, workerData });
  worker.unref();
  return worker;
}

/** Path of the TypeScript loader, if a thread needs it for one of these files (paths or URLs). */
export function tsxFor(files: readonly string[]): string | undefined {
  const typed = files.filter(isTypeScript);
  const strips = Boolean((process.features as { readonly typescript?: unknown }).typescript);
  if (typed.length === 0 || strips) return undefined;
  for (const file of typed)
    try {
      const path = file.startsWith("file:") ? fileURLToPath(file) : file;
      return pathToFileURL(createRequire(path).resolve("tsx")).href;
    } catch {
      // Maybe it is beside the next one.
    }
  throw new EspalierError(
    "TYPESCRIPT_UNSUPPORTED",
    `Node ${process.versions.node} cannot import ${typed.at(-1)} in a thread`,
    { fix: "use Node 22.18 or newer, or `npm install --save-dev tsx` beside the file, or give JavaScript" },
  );
}
