import { existsSync } from "node:fs";
import { EspalierError } from "../../../core/index.ts";
import { type Handle, native } from "./koffi.ts";

// Plugins must stay loaded until the process ends: they have threads and exit handlers of their own, and
// unloading one crashes. This is why dlopen is called directly; koffi unloads what it loaded.
const MAC = process.platform === "darwin";
const RTLD_NOW = 2;
const RTLD_GLOBAL = MAC ? 0x8 : 0x100;
const RTLD_NODELETE = MAC ? 0x80 : 0x1000;

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
  if (!existsSync(path))
    throw new EspalierError("PLUGIN_NOT_FOUND", `there is no XLA plugin at ${path}`, {
      fix: "correct ESPALIER_XLA_PLUGIN, or run `espalier engine install cpu`",
    });
  const library = open(path, RTLD_NOW | RTLD_NODELETE);
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
  return open(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE) ? undefined : (error() ?? `cannot load ${path}`);
}
