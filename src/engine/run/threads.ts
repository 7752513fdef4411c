import type { Transferable, Worker } from "node:worker_threads";
import own from "../../../package.json" with { type: "json" };
import { EspalierError, node } from "../../core/index.ts";

// The one way in which Espalier starts worker threads. A thread's work is a file of its own, which the build emits
// (`threads` in tsdown.config.ts) and which does nothing until its `runThread` is called:
//
//   const worker = startThread("rl/vector/thread-main", { name: "espalier-environments", data, transfer: [data.port] });
//   export async function runThread(data: ThreadData): Promise<void> { ... } // src/rl/vector/thread-main.ts
//
// It works from the sources, from the installed package by `import` and `require`, and in a program that a bundler made
// one file of, as long as the package lies beside it. Where it does not, THREAD_MISSING says what to do about it.

/** Options of {@link startThread}. */
export interface ThreadOptions {
  /** The thread's name, as debuggers show it. */
  readonly name: string;
  /** Given to `runThread`, copied as messages are. */
  readonly data?: unknown;
  /** Ports and buffers in `data` that are moved, not copied. */
  readonly transfer?: readonly Transferable[];
  /** Files that the thread will import, as paths or URLs: for those in TypeScript it gets a loader. */
  readonly imports?: readonly string[];
}

/**
 * Starts a thread that calls `runThread(data)` of one of our files: `path` is its place under src, without its
 * extension. It does not keep the process alive; call `ref()` for as long as it should. What `runThread` throws is an
 * `error` event of the worker.
 */
export function startThread(path: string, options: ThreadOptions): Worker {
  const { name, data, transfer = [], imports = [] } = options;
  const file = ownFile(path);
  const boot = ownFile("engine/run/thread-boot", "mjs");
  const worker = new node.workerThreads.Worker(new URL(boot), {
    name,
    execArgv: [],
    workerData: { file, data, tsx: tsxFor([file, ...imports]) },
    transferList: [...transfer],
  });
  worker.unref();
  return worker;
}

const isTypeScript = (file: string): boolean => /\.[cm]?tsx?$/.test(file);

/**
 * The URL of one of our files by its place under src: the source in a checkout, and what the build made of it in the
 * package. A bundle looks for the package it was made from, of the same version.
 */
export function ownFile(path: string, extension = "ts"): string {
  const here = import.meta.url;
  if (here && isTypeScript(here)) return new URL(`../../${path}.${extension}`, here).href;
  try {
    const require = node.module.createRequire(here);
    const manifest = "espalier/package.json";
    const { version } = require(manifest) as { readonly version: string };
    if (version !== own.version) throw new Error(`espalier ${version} is installed, not ${own.version}`);
    const file = new URL(`./dist/${path}.js`, node.url.pathToFileURL(require.resolve(manifest)));
    if (!node.fs.existsSync(file)) throw new Error(`there is no file ${file}`);
    return file.href;
  } catch (cause) {
    throw new EspalierError("THREAD_MISSING", `the package espalier cannot be found, which has ${path}.js`, {
      fix: `leave espalier out of the bundle (esbuild: --external:espalier), or install espalier@${own.version} beside it`,
      cause,
    });
  }
}

/** The abilities of a Node that decide whether it needs tsx. Tests bring others. */
export interface TypeScriptRuntime {
  readonly version: string;
  /** Whether this Node strips types by itself. */
  readonly stripsTypes: boolean;
  /** The URL of the tsx that is installed beside a file, which is a path or a URL. */
  findTsx(file: string): string | undefined;
}

/** The Node that runs this. */
export const thisRuntime = (): TypeScriptRuntime => ({
  version: process.versions.node,
  stripsTypes: Boolean((process.features as { readonly typescript?: unknown }).typescript),
  findTsx: (file) => {
    try {
      const path = file.startsWith("file:") ? node.url.fileURLToPath(file) : file;
      return node.url.pathToFileURL(node.module.createRequire(path).resolve("tsx")).href;
    } catch {
      return undefined;
    }
  },
});

/**
 * The URL of tsx, where it is needed to import one of these files, which are paths or URLs. One that is not there needs
 * none: importing it says so.
 */
export function tsxFor(files: readonly string[], runtime = thisRuntime()): string | undefined {
  const isThere = (file: string) => node.fs.existsSync(file.startsWith("file:") ? new URL(file) : file);
  const typed = files.filter((file) => isTypeScript(file) && isThere(file));
  if (typed.length === 0 || runtime.stripsTypes) return undefined;
  for (const file of typed) {
    const tsx = runtime.findTsx(file);
    if (tsx !== undefined) return tsx;
  }
  throw new EspalierError("TYPESCRIPT_UNSUPPORTED", `Node ${runtime.version} cannot import ${typed.at(-1)}`, {
    fix: "use Node 22.18 or newer, or `npm install --save-dev tsx` beside the file, or give JavaScript",
  });
}
