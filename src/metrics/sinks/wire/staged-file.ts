import { dirname } from "node:path";
import { READ_WRITE, type SinkFiles, tryCut } from "../files.ts";

/**
 * A file that grows by whole calls: what was staged counts once it is committed, and is gone when it is dropped, so that
 * a call that failed can be made again. What is staged is in the file at once.
 */
export class StagedFile {
  readonly path: string;
  readonly #files: SinkFiles;
  readonly #file: number;
  #length: number;
  #staged = 0;

  /** Opens the file, which is made where there is none, and writes from `length` on. */
  constructor(files: SinkFiles, path: string, length = 0) {
    files.mkdirSync(dirname(path), { recursive: true });
    this.path = path;
    this.#files = files;
    this.#file = files.openSync(path, READ_WRITE);
    this.#length = length;
  }

  /** Where the next byte goes. */
  get length(): number {
    return this.#length + this.#staged;
  }

  stage(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const written = this.#files.writeSync(this.#file, bytes, at, bytes.length - at, this.length);
      at += written;
      this.#staged += written;
    }
  }

  commit(): void {
    this.#length += this.#staged;
    this.#staged = 0;
  }

  drop(): void {
    this.#staged = 0;
    tryCut(this.#files, this.#file, this.#length);
  }

  close(): void {
    this.#files.closeSync(this.#file);
  }
}
