import { badOption, EspalierError, node, shown } from "../core/index.ts";

/** A file that is read by position. It is opened when it is first read, and closed when nothing refers to it. */
export class DataFile {
  readonly path: string;
  /** Its name for errors. */
  readonly name: string;
  readonly size: number;
  #descriptor: number | undefined;

  constructor(path: string | URL) {
    this.path = absolutePath(path);
    this.name = node.path.basename(this.path);
    const found = node.fs.statSync(this.path, { throwIfNoEntry: false });
    if (!found?.isFile())
      throw new EspalierError("DATA_FILE_MISSING", `there is no file ${this.path}`, {
        fix: "check the path, which is taken from the directory that the program runs in",
      });
    this.size = found.size;
  }

  /** Up to `length` bytes from a position: fewer at the end of the file. */
  read(position: number, length: number): Uint8Array<ArrayBuffer> {
    if (this.#descriptor === undefined) {
      this.#descriptor = node.fs.openSync(this.path, "r");
      registry().register(this, this.#descriptor);
    }
    const bytes = new Uint8Array(Math.max(0, Math.min(length, this.size - position)));
    let done = 0;
    while (done < bytes.length) {
      const n = node.fs.readSync(this.#descriptor, bytes, done, bytes.length - done, position + done);
      if (n === 0) throw new Error(`the file has become shorter than the ${this.size} bytes it had`);
      done += n;
    }
    return bytes;
  }
}

/** Refuses an argument that is not what it should be. */
export function checkArgument(ok: boolean, kind: string, given: unknown, is: string): void {
  if (!ok) throw badOption(kind, `it was given ${shown(given)}`, `give ${is}`);
}

export function absolutePath(path: string | URL): string {
  checkArgument(
    path instanceof URL || (typeof path === "string" && path !== ""),
    "data",
    path,
    "the path of a file",
  );
  return path instanceof URL ? node.url.fileURLToPath(path) : node.path.resolve(path);
}

let closing: FinalizationRegistry<number> | undefined;
function registry(): FinalizationRegistry<number> {
  closing ??= new FinalizationRegistry((descriptor) => node.fs.closeSync(descriptor));
  return closing;
}
