import { dirname, join, parse, resolve } from "node:path";
import { badOption, checkNames, shown } from "../../core/index.ts";
import { READ_WRITE, type SinkFiles, systemFiles, tryCut, writeAll } from "./files.ts";
import type { SinkChoice } from "./sink.ts";
import { type WholeLine, wholeLines } from "./whole-lines.ts";

/** What all sinks that write a file of their own can be told. */
export interface FileSinkChoice extends SinkChoice {
  /** For tests of disks that fail. Default the machine's own. */
  readonly files?: SinkFiles;
}

/** Checks what a sink was given, and gives the file it is to write. */
export function lineFile(kind: string, path: string, choice: FileSinkChoice): LineFile {
  checkNames(kind, choice, ["name", "schedule", "categories", "metrics", "files"]);
  if (typeof path !== "string" || path === "")
    throw badOption(kind, `the path is ${shown(path)}`, "name a file");
  return new LineFile(resolve(path), choice.files);
}

const BLOCK = 1 << 18;

/** A file of lines that only grows, a call wholly or not at all, and can be replaced in one go. */
export class LineFile {
  readonly path: string;
  readonly #files: SinkFiles;
  #file: number | undefined;
  /** Where the next line goes. What lies beyond is of a call that failed. */
  #size = 0;
  #isClean = true;

  constructor(path: string, files: SinkFiles = systemFiles) {
    this.path = path;
    this.#files = files;
  }

  get size(): number {
    return this.#size;
  }

  /** Makes it where there is none. */
  open(): void {
    this.close();
    this.#files.mkdirSync(dirname(this.path), { recursive: true });
    const file = this.#files.openSync(this.path, READ_WRITE);
    this.#file = file;
    this.#size = this.#files.fstatSync(file).size;
    this.#isClean = true;
  }

  lines(): Iterable<WholeLine> {
    return wholeLines(this.#files, this.#opened(), 0, this.#size);
  }

  /** Forgets what lies beyond. */
  cut(size: number): void {
    if (size < this.#size) this.#files.ftruncateSync(this.#opened(), size);
    this.#size = size;
  }

  /** Appends all of it or, where it throws, nothing. */
  append(text: string): void {
    const file = this.#opened();
    if (!this.#isClean) this.#files.ftruncateSync(file, this.#size);
    this.#isClean = true;
    const bytes = Buffer.from(text);
    try {
      writeAll(this.#files, file, bytes, this.#size);
    } catch (error) {
      this.#isClean = false;
      tryCut(this.#files, file, this.#size);
      throw error;
    }
    this.#size += bytes.length;
  }

  /** Replaces it by these pieces, all of them or none: they are written beside it first. They may come from `lines`. */
  replace(pieces: Iterable<string>): void {
    const beside = `${this.path}.new`;
    const file = this.#files.openSync(beside, "w+");
    let size = 0;
    let waiting: string[] = [];
    let length = 0;
    const flush = (): void => {
      const bytes = Buffer.from(waiting.join(""));
      writeAll(this.#files, file, bytes, size);
      size += bytes.length;
      waiting = [];
      length = 0;
    };
    try {
      for (const piece of pieces) {
        waiting.push(piece);
        length += piece.length;
        if (length > BLOCK) flush();
      }
      flush();
      this.#files.renameSync(beside, this.path);
    } catch (error) {
      this.#files.closeSync(file);
      this.#files.rmSync(beside, { force: true });
      throw error;
    }
    this.close();
    this.#file = file;
    this.#size = size;
    this.#isClean = true;
  }

  /** Keeps what is there under another name, `a.1.jsonl` for `a.jsonl` or the next number, and begins anew. */
  setAside(): void {
    this.close();
    const { dir, name, ext } = parse(this.path);
    for (let number = 1; ; number++) {
      const aside = join(dir, `${name}.${number}${ext}`);
      if (!this.#claim(aside)) continue;
      try {
        this.#files.renameSync(this.path, aside);
      } catch (error) {
        this.#files.rmSync(aside, { force: true });
        throw error;
      }
      break;
    }
    this.open();
  }

  close(): void {
    if (this.#file !== undefined) this.#files.closeSync(this.#file);
    this.#file = undefined;
  }

  /** Takes a name that nobody has, so that of several processes no two take the same. */
  #claim(path: string): boolean {
    try {
      this.#files.closeSync(this.#files.openSync(path, "wx"));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
  }

  #opened(): number {
    if (this.#file === undefined) this.open();
    return this.#file ?? -1;
  }
}
