import { EspalierError } from "../../../core/index.ts";
import { Block } from "./block.ts";
import { FUNCTIONS_AT, functions, MINIMUM_MINOR, RESULT, RESULT_LENGTH, SUBJECT, version } from "./layout.ts";
import { type Handle, loadSymbol, type NativeFunction, native } from "./library.ts";

type FunctionName = keyof typeof functions;

export interface ApiVersion {
  readonly major: number;
  readonly minor: number;
}

/** One loaded and initialised plugin: its version and its functions. */
export class PjrtApi {
  readonly path: string;
  readonly version: ApiVersion;
  readonly functions: Readonly<Record<FunctionName, NativeFunction>>;

  static readonly #loaded = new Map<string, PjrtApi>();

  /** Loads the plugin at `path`, once for each path. */
  static load(path: string): PjrtApi {
    let api = PjrtApi.#loaded.get(path);
    if (!api) {
      api = new PjrtApi(path);
      api.check(api.functions.pluginInitialize(Block.struct().address), "PLUGIN_FAILED");
      PjrtApi.#loaded.set(path, api);
    }
    return api;
  }

  private constructor(path: string) {
    const { functionAt, pointersAt, bytesAt } = native();
    // Plugins write notes about themselves to stderr; warnings and errors are enough.
    process.env.TF_CPP_MIN_LOG_LEVEL ??= "1";
    const table = functionAt(loadSymbol(path, "GetPjrtApi"))(0);
    this.path = path;
    this.version = readVersion(bytesAt(table, FUNCTIONS_AT));
    checkVersion(path, this.version);
    const count = Math.max(...Object.values(functions)) + 1;
    const pointers = pointersAt(table + FUNCTIONS_AT, count);
    this.functions = Object.fromEntries(
      Object.entries(functions).map(([name, at]) => [name, functionAt(pointers[at] as Handle)]),
    ) as Record<FunctionName, NativeFunction>;
  }

  /** Calls a function on a struct and throws what it reports. Returns the struct, for its results. */
  call(name: FunctionName, block: Block, code = "XLA_RUNTIME"): Block {
    this.check(this.functions[name](block.address), code);
    return block;
  }

  /** Asks one thing about one object. */
  query(name: FunctionName, subject: Handle): Block {
    const block = Block.struct();
    block.setPointer(SUBJECT, subject);
    return this.call(name, block);
  }

  /** Asks for a text about one object. */
  queryText(name: FunctionName, subject: Handle): string {
    return readText(this.query(name, subject));
  }

  /** Throws for a PJRT error that is not null, after freeing it. */
  check(error: Handle, code: string): void {
    if (error !== 0) throw this.#take(error, code);
  }

  #take(error: Handle, code: string): EspalierError {
    const block = Block.struct();
    block.setPointer(SUBJECT, error);
    this.functions.errorMessage(block.address);
    const message = readText(block);
    this.functions.errorGetCode(block.address);
    const kind = statusNames[block.int32(RESULT)] ?? "UNKNOWN";
    this.functions.errorDestroy(block.address);
    return new EspalierError(code, `${kind}: ${message}`, fixFor(kind));
  }
}

function readText(block: Block): string {
  return Buffer.from(native().bytesAt(block.pointer(RESULT), block.pointer(RESULT_LENGTH))).toString("utf8");
}

function readVersion(head: Uint8Array): ApiVersion {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  return { major: view.getInt32(version.major, true), minor: view.getInt32(version.minor, true) };
}

/** Refuses versions whose layout is not the one in layout.ts. */
export function checkVersion(path: string, { major, minor }: ApiVersion): void {
  if (major === 0 && minor >= MINIMUM_MINOR) return;
  throw new EspalierError(
    "PLUGIN_INCOMPATIBLE",
    `the XLA plugin at ${path} has PJRT API ${major}.${minor}; 0.${MINIMUM_MINOR} or a later 0.x is needed`,
    { fix: "install a matching plugin with `espalier engine install cpu`" },
  );
}

/** Absl's status codes, which PJRT uses. */
const statusNames = (
  "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED " +
  "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS " +
  "UNAUTHENTICATED"
).split(" ");

function fixFor(kind: string): { readonly fix?: string } {
  if (kind === "RESOURCE_EXHAUSTED")
    return { fix: "use smaller batches, or free tensors that are not needed" };
  return {};
}
