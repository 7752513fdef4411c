/**
 * Weights in shared memory: the trainer writes a version once into a file of /dev/shm (the temporary directory where
 * there is none, or too little room), and every worker process reads it from there. A message tells where in the file
 * each array lies.
 *
 *     /dev/shm/espalier-weights-HOST-PID-XXXXXX/7     [ blocks.0.w | blocks.0.b | ... ]
 *
 * The file before is removed when the next is announced: a worker that comes too late for it waits for the next. The
 * directory is removed at the end; when the trainer was killed, by its workers; and when those were killed with it, by
 * the next trainer on this machine.
 */
import { EspalierError, node } from "../core/index.ts";
import type { HostArray } from "../engine/index.ts";
import type { NamedArrays, Weights } from "./rollout.ts";

const arrayTypes = {
  Float32Array,
  Float64Array,
  Int32Array,
  Uint32Array,
  Uint8Array,
} as const;
type ArrayType = keyof typeof arrayTypes;

/** Weights in a file. Plain data. */
export interface SharedWeights {
  readonly id: number;
  readonly file: string;
  /** Bytes of the file. */
  readonly bytes: number;
  readonly arrays: readonly {
    readonly name: string;
    readonly type: ArrayType;
    readonly shape: readonly number[];
    /** Position in the file, a multiple of 8. */
    readonly start: number;
    readonly length: number;
  }[];
}

/** The trainer's side: writes versions of weights. */
export class WeightFiles {
  #directory: string | undefined;
  #versions = 0;
  #current: string | undefined;
  readonly #remove = (): void => removeDirectory(this.#directory);

  /** Writes weights into a file of their own. Those before are there until {@link removePrevious}. */
  write({ id, arrays }: Weights): SharedWeights {
    let bytes = 0;
    const layout = Object.entries(arrays).map(([name, { data, shape }]) => {
      const start = bytes;
      bytes += Math.ceil(data.byteLength / 8) * 8;
      return { name, type: typeName(name, data), shape, start, length: data.length };
    });
    this.#directory ??= this.#open(bytes);
    const file = node.path.join(this.#directory, String(++this.#versions));
    try {
      writeArrays(file, arrays, bytes);
    } catch (cause) {
      node.fs.rmSync(file, { force: true });
      const { message } = cause as Error;
      throw new EspalierError(
        "WEIGHTS_UNWRITABLE",
        `weights of ${bytes} bytes cannot be shared: ${message}`,
        {
          fix: `make room in ${node.path.dirname(this.#directory)}: two versions of the weights have to fit`,
          cause,
        },
      );
    }
    return { id, file, bytes, arrays: layout };
  }

  /** Removes the file before this one. */
  removePrevious({ file }: SharedWeights): void {
    if (this.#current !== undefined) node.fs.rmSync(this.#current, { force: true });
    this.#current = file;
  }

  #open(bytes: number): string {
    const base = directoryFor(bytes);
    removeForgotten(base);
    process.once("exit", this.#remove);
    return node.fs.mkdtempSync(node.path.join(base, `${prefix()}${process.pid}-`));
  }

  close(): void {
    process.removeListener("exit", this.#remove);
    this.#remove();
  }
}

/** Removes a directory of weights with all it holds. */
export function removeDirectory(directory: string | undefined): void {
  if (directory !== undefined) node.fs.rmSync(directory, { recursive: true, force: true });
}

function typeName(name: string, data: HostArray): ArrayType {
  const type = data.constructor.name;
  if (type in arrayTypes) return type as ArrayType;
  throw new EspalierError("WEIGHTS_INVALID", `weights cannot be published: "${name}" is a ${type}`, {
    fix: `give one of ${Object.keys(arrayTypes).join(", ")}`,
  });
}

function writeArrays(file: string, arrays: NamedArrays, bytes: number): void {
  const { fs } = node;
  const descriptor = fs.openSync(file, "wx", 0o600);
  try {
    let start = 0;
    for (const { data } of Object.values(arrays)) {
      const view = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      for (let at = 0; at < view.length; )
        at += fs.writeSync(descriptor, view, at, Math.min(view.length - at, largestCall), start + at);
      start += Math.ceil(data.byteLength / 8) * 8;
    }
    fs.ftruncateSync(descriptor, bytes);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Bytes that one call of the operating system takes without question. */
const largestCall = 2 ** 30;

/** Reads shared weights; undefined where the file is gone, because there are newer ones or the trainer has ended. */
export function readSharedWeights({ id, file, bytes, arrays }: SharedWeights): Weights | undefined {
  const { fs } = node;
  let descriptor: number;
  try {
    descriptor = fs.openSync(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  // Not cleared first, which would take longer than reading; every byte is read below.
  const memory = Buffer.allocUnsafeSlow(bytes);
  try {
    for (let at = 0; at < bytes; ) {
      const read = fs.readSync(descriptor, memory, at, Math.min(bytes - at, largestCall), at);
      if (read === 0)
        throw new EspalierError("WEIGHTS_UNREADABLE", `${file} has ${at} bytes of ${bytes}: weights ${id}`, {
          fix: "look for what changes files there; the next weights have a file of their own",
        });
      at += read;
    }
  } finally {
    fs.closeSync(descriptor);
  }
  const named = arrays.map(({ name, type, shape, start, length }) => {
    const data = new arrayTypes[type](memory.buffer, memory.byteOffset + start, length);
    return [name, { data, shape }] as const;
  });
  return { id, arrays: Object.fromEntries(named) };
}

/** Where files go: shared memory, if four versions fit. */
function directoryFor(bytes: number): string {
  const { fs, os } = node;
  try {
    const { bavail, bsize } = fs.statfsSync("/dev/shm");
    fs.accessSync("/dev/shm", fs.constants.W_OK);
    if (bavail * bsize >= 4 * bytes) return "/dev/shm";
  } catch {
    // No shared memory on this system.
  }
  return os.tmpdir();
}

/** Process ids count on one host; containers that share /dev/shm have names of their own. */
const prefix = (): string => `espalier-weights-${node.os.hostname().replace(/[^\w.]/g, "_")}-`;

/** Removes directories whose trainer and workers were all killed. */
function removeForgotten(base: string): void {
  const start = prefix();
  for (const name of node.fs.readdirSync(base)) {
    if (!name.startsWith(start) || isAlive(Number.parseInt(name.slice(start.length), 10))) continue;
    try {
      removeDirectory(node.path.join(base, name));
    } catch {
      // Another user's.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
