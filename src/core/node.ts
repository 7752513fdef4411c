import { EspalierError } from "./error.ts";

/** Node's modules by the names that {@link node} gives them. */
export const nodeModules = {
  childProcess: "node:child_process",
  crypto: "node:crypto",
  events: "node:events",
  fs: "node:fs",
  http: "node:http",
  inspector: "node:inspector",
  module: "node:module",
  net: "node:net",
  os: "node:os",
  path: "node:path",
  perfHooks: "node:perf_hooks",
  readline: "node:readline",
  timersPromises: "node:timers/promises",
  url: "node:url",
  util: "node:util",
  v8: "node:v8",
  vm: "node:vm",
  workerThreads: "node:worker_threads",
  zlib: "node:zlib",
} as const;

type NodeModules = {
  readonly [Name in keyof typeof nodeModules]: ReturnType<
    typeof process.getBuiltinModule<(typeof nodeModules)[Name]>
  >;
};

/**
 * Node's own modules, looked up when they are used: importing Espalier loads none, so that its rooms can be bundled for
 * a browser. Sources take `fs` and others from here and import none.
 */
export const node = Object.defineProperties(
  {},
  Object.fromEntries(Object.entries(nodeModules).map(([name, id]) => [name, { get: () => builtin(id) }])),
) as NodeModules;

function builtin(id: string): object {
  const found = globalThis.process?.getBuiltinModule?.(id);
  if (found) return found;
  throw new EspalierError("NODE_MISSING", `this needs ${id}, which Node 20.16 and newer have`, {
    fix: "files, threads, processes and the xla engine run on Node; a browser can trace, compile and train with wasm",
  });
}

/** True where Node's modules can be had. */
export const onNode = (): boolean => globalThis.process?.getBuiltinModule !== undefined;

/**
 * Makes a directory and those above it that are not there. Gives the first that was made. Node's own `recursive` does
 * not return where a file system denies a directory that is there, as /proc does.
 */
export function makeDirectory(path: string): string | undefined {
  const { dirname, resolve } = node.path;
  const full = resolve(path);
  const first = node.fs.existsSync(dirname(full)) ? undefined : makeDirectory(dirname(full));
  try {
    node.fs.mkdirSync(full);
    return first ?? full;
  } catch (error) {
    if (!node.fs.statSync(full, { throwIfNoEntry: false })?.isDirectory()) throw error;
    return first;
  }
}

/** Writes a file at once or not at all. */
export function writeWhole(file: string, text: string): void {
  node.fs.writeFileSync(`${file}.new`, text);
  node.fs.renameSync(`${file}.new`, file);
}

let outputs: string | undefined;

/** Calls `make`; relative paths of what it makes that go through {@link outputPath} begin at `directory`. */
export function withOutputs<T>(directory: string | undefined, make: () => T): T {
  const around = outputs;
  outputs = directory;
  try {
    return make();
  } finally {
    outputs = around;
  }
}

/**
 * The path of a file or directory that a part of a run writes: what takes one as an option resolves it when it is made.
 * In a run from a file a relative path is in the run's directory; in a program it is what it is.
 */
export const outputPath = (path: string): string =>
  outputs === undefined || /^[a-z][a-z0-9+.-]*:/i.test(path) ? path : node.path.resolve(outputs, path);

/** Calls `run` in the next turn of the event loop. */
export const nextTurn = (run: () => void): void =>
  void (typeof setImmediate === "function" ? setImmediate(run) : setTimeout(run, 0));

/** A variable of the environment; undefined where there is none, as in a browser. */
export const environmentVariable = (name: string): string | undefined => globalThis.process?.env?.[name];
