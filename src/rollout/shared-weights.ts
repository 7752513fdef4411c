/**
 * Weights in shared memory: the trainer writes a version once into a file of /dev/shm (the temporary directory where
 * there is none, or too little room), and every worker process reads it from there. A message tells its name.
 *
 *     /dev/shm/espalier-weights-HOST-PID-XXXXXX/7     written by array-bytes.ts
 *
 * The file before is removed when the next is announced: a worker that comes too late for it waits for the next. The
 * directory is removed at the end; when the trainer was killed, by its workers; and when those were killed with it, by
 * the next trainer on this machine.
 */
import { EspalierError, messageOf, node } from "../core/index.ts";
import { piecesOf, unpackArrays } from "./array-bytes.ts";
import type { Weights } from "./rollout.ts";

export interface SharedWeights {
  readonly id: number;
  readonly file: string;
  readonly bytes: number;
}

/** The trainer's side: each version of weights has a file of its own. */
export function weightFiles() {
  const { fs, path } = node;
  let directory: string | undefined;
  let versions = 0;
  let current: string | undefined;
  const remove = (): void => {
    if (directory !== undefined) fs.rmSync(directory, { recursive: true, force: true });
  };

  function open(base: string): string {
    removeWhere(base, (pid) => !isAlive(pid));
    process.once("exit", remove);
    return fs.mkdtempSync(path.join(base, `${prefix()}${process.pid}-`));
  }

  return {
    /** Those before stay until `removePrevious`. */
    write: ({ id, arrays }: Weights): SharedWeights => {
      const pieces = piecesOf({}, arrays);
      const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
      const base = directory === undefined ? directoryFor(bytes) : path.dirname(directory);
      let file = "";
      try {
        directory ??= open(base);
        file = path.join(directory, String(++versions));
        const descriptor = fs.openSync(file, "wx", 0o600);
        try {
          for (const piece of pieces) fs.writeFileSync(descriptor, piece);
        } finally {
          fs.closeSync(descriptor);
        }
      } catch (cause) {
        fs.rmSync(file, { force: true });
        const message = messageOf(cause);
        throw new EspalierError(
          "WEIGHTS_UNWRITABLE",
          `weights of ${bytes} bytes cannot be shared: ${message}`,
          { fix: `make room in ${base}: two versions of the weights have to fit`, cause },
        );
      }
      return { id, file, bytes };
    },
    removePrevious: ({ file }: SharedWeights): void => {
      if (current !== undefined) fs.rmSync(current, { force: true });
      current = file;
    },
    close: (): void => {
      process.removeListener("exit", remove);
      remove();
    },
  };
}

/** Bytes that one call of the operating system takes without question. */
const largestCall = 2 ** 30;

/** Reads shared weights; undefined where the file is gone, because there are newer ones or the trainer has ended. */
export function readSharedWeights({ id, file, bytes }: SharedWeights): Weights | undefined {
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
  return { id, arrays: unpackArrays(memory).arrays };
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

/** Removes the directories of a trainer that was killed. */
export function removeWeightsOf(trainer: number): void {
  for (const base of ["/dev/shm", node.os.tmpdir()])
    if (node.fs.existsSync(base)) removeWhere(base, (pid) => pid === trainer);
}

/** Removes directories of trainers that are gone. */
function removeWhere(base: string, isGone: (pid: number) => boolean): void {
  const { fs, path } = node;
  const start = prefix();
  for (const name of fs.readdirSync(base)) {
    if (!name.startsWith(start) || !isGone(Number.parseInt(name.slice(start.length), 10))) continue;
    try {
      fs.rmSync(path.join(base, name), { recursive: true, force: true });
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
