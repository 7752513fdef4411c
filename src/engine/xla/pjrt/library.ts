import { EspalierError, node } from "../../../core/index.ts";

/** A native pointer as a JS number; 0 is null. Addresses of user space stay far below 2^53. */
export type Handle = number;

/** A C function that takes the address of its argument block and returns a pointer (for PJRT, the error). */
export interface NativeFunction {
  (block: Handle): Handle;
  /** The same call on a worker thread. */
  readonly async: (block: Handle, done: (failure: unknown, result: Handle) => void) => void;
}

/** The part of koffi that is used here. */
interface Koffi {
  config(settings?: Readonly<Record<string, number>>): Readonly<Record<string, number>>;
  load(path: string | null): { func(definition: string): (...args: unknown[]) => unknown };
  proto(definition: string): object;
  address(memory: ArrayBuffer | ArrayBufferView): bigint;
  decode(pointer: Handle, type: object): NativeFunction;
  decode(pointer: Handle, type: "uint8_t", length: number): Uint8Array;
  decode(pointer: Handle, type: "uint64_t", length: number): BigUint64Array;
}

/** Path of koffi, for other threads to load it; undefined if unknown. */
export function koffiPath(): string | undefined {
  try {
    return node.module.createRequire(import.meta.url).resolve("koffi");
  } catch {
    return undefined;
  }
}

/** The part of the foreign function interface that the client uses. */
export interface NativeLibrary {
  /** A function of the C library that this process already carries, such as `dlopen`. */
  processFunction(definition: string): (...args: unknown[]) => unknown;
  functionAt(pointer: Handle): NativeFunction;
  addressOf(memory: ArrayBuffer | ArrayBufferView): Handle;
  /** A copy of `length` bytes at `pointer`. */
  bytesAt(pointer: Handle, length: number): Uint8Array;
  /** `count` pointers, read from the array at `pointer`. */
  pointersAt(pointer: Handle, count: number): Handle[];
  /** Copies `length` bytes from `source` to the start of `target`. */
  copyTo(target: Uint8Array, source: Handle, length: number): void;
}

// Koffi runs calls on a stack of its own. The compiler recurses along the program on the calling thread, so
// that the default of 2 MiB could overflow; the memory is reserved, not used, until it is needed.
const STACK_BYTES = 16 * 1024 * 1024;
const PENDING_CALLS = 4096;

let loaded: NativeLibrary | undefined;

/** Loads koffi at first use, so that the package also works where koffi cannot load. */
export function native(): NativeLibrary {
  loaded ??= bind(loadKoffi());
  return loaded;
}

function loadKoffi(): Koffi {
  try {
    return node.module.createRequire(import.meta.url)("koffi") as Koffi;
  } catch (cause) {
    throw new EspalierError(
      "KOFFI_UNAVAILABLE",
      `koffi, which calls the XLA plugin, cannot load: ${text(cause)}`,
      {
        fix: "install it with `npm install koffi`, or use the wasm engine (ESPALIER_ENGINE=wasm)",
        cause,
      },
    );
  }
}

function bind(koffi: Koffi): NativeLibrary {
  try {
    koffi.config({ ...koffi.config(), sync_stack_size: STACK_BYTES, max_async_calls: PENDING_CALLS });
  } catch {
    // Another user of koffi came first and fixed its settings; the defaults serve all but very deep programs.
  }
  // Of the styles koffi offers, plain integers in and out are the fastest: no pointer objects, no BigInts.
  const prototype = koffi.proto("uintptr_t espalier_native_call(uintptr_t block)");
  const process = koffi.load(null);
  return {
    processFunction: (definition) => process.func(definition),
    functionAt: (pointer) => koffi.decode(pointer, prototype),
    addressOf: (memory) => Number(koffi.address(memory)),
    bytesAt: (pointer, length) =>
      length === 0 ? new Uint8Array(0) : koffi.decode(pointer, "uint8_t", length),
    pointersAt: (pointer, count) =>
      count === 0 ? [] : Array.from(koffi.decode(pointer, "uint64_t", count), Number),
    copyTo: process.func(
      "void memcpy(void *target, uintptr_t source, size_t length)",
    ) as NativeLibrary["copyTo"],
  };
}

function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

// Plugins must stay loaded until the process ends: they have threads and exit handlers of their own, and
// unloading one crashes. This is why dlopen is called directly; koffi unloads what it loaded.
const RTLD_NOW = 2;
const flagsOf = (platform: string): { readonly global: number; readonly noDelete: number } =>
  platform === "darwin" ? { global: 0x8, noDelete: 0x80 } : { global: 0x100, noDelete: 0x1000 };

interface Loader {
  readonly open: (path: string, flags: number) => Handle | null;
  readonly symbol: (library: Handle, name: string) => Handle | null;
  readonly error: () => string | null;
}

let found: Loader | undefined;

function loader(): Loader {
  if (found) return found;
  try {
    const { processFunction } = native();
    found = {
      open: processFunction("uintptr_t dlopen(const char *path, int flags)") as Loader["open"],
      symbol: processFunction("uintptr_t dlsym(uintptr_t library, const char *name)") as Loader["symbol"],
      error: processFunction("const char *dlerror()") as Loader["error"],
    };
    return found;
  } catch (cause) {
    if (cause instanceof EspalierError) throw cause;
    throw new EspalierError("PLUGIN_NOT_LOADABLE", "this system has no dlopen to load an XLA plugin with", {
      fix: "use the wasm engine here (ESPALIER_ENGINE=wasm)",
      cause,
    });
  }
}

/** Loads the library at `path` for good and returns the address of one of its symbols. */
export function loadSymbol(path: string, name: string): Handle {
  const { open, symbol, error } = loader();
  if (!node.fs.existsSync(path))
    throw new EspalierError("PLUGIN_NOT_FOUND", `there is no XLA plugin at ${path}`, {
      fix: "correct ESPALIER_XLA_PLUGIN, or run `espalier engine install cpu`",
    });
  const library = open(path, RTLD_NOW | flagsOf(process.platform).noDelete);
  if (!library)
    throw new EspalierError("PLUGIN_NOT_LOADABLE", `the XLA plugin does not load: ${error() ?? path}`, {
      fix: "install the libraries it names, or a plugin built for this system",
    });
  const address = symbol(library, name);
  if (!address)
    throw new EspalierError("PLUGIN_NOT_LOADABLE", `${path} is not a PJRT plugin: it has no ${name}`, {
      fix: "point ESPALIER_XLA_PLUGIN at a PJRT plugin, e.g. xla_cpu_pjrt.so",
    });
  return address;
}

/**
 * Loads a library for good, with its symbols visible to libraries loaded after it.
 * Returns the loader's message where that fails.
 */
export function loadGlobally(path: string): string | undefined {
  const { open, error } = loader();
  const flags = flagsOf(process.platform);
  return open(path, RTLD_NOW | flags.global | flags.noDelete)
    ? undefined
    : (error() ?? `cannot load ${path}`);
}
