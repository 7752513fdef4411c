import {
  checkOptions,
  checkValue,
  EspalierError,
  makeDirectory,
  node,
  type Options,
  option,
  outputPath,
} from "../../core/index.ts";
import type { MetricRecord } from "../record.ts";
import type { RunInfo } from "../run-info.ts";
import { comesAgain, filedUpTo, sinkOptions } from "./sink.ts";

/**
 * The part of node:fs that sinks write files with: injected, so that a full disk can be tested without one. Declared
 * here because the package's public types do not depend on those of Node.
 */
export interface SinkFiles {
  openSync(path: string, flags: string | number, mode?: number): number;
  closeSync(file: number): void;
  readSync(file: number, into: Uint8Array, offset: number, length: number, position: number): number;
  writeSync(file: number, bytes: Uint8Array, offset: number, length: number, position?: number): number;
  fstatSync(file: number): { readonly size: number; isFile(): boolean };
  ftruncateSync(file: number, size?: number): void;
  mkdirSync(path: string, options: { readonly recursive: true }): unknown;
  renameSync(from: string, to: string): void;
  rmSync(path: string, options?: { readonly recursive?: boolean; readonly force?: boolean }): void;
  existsSync(path: string): boolean;
}

/** The files of this machine. */
export const systemFiles = (): SinkFiles => ({ ...node.fs, mkdirSync: makeDirectory });

/** Opens for reading and writing anywhere, and creates the file where there is none. */
export const readWrite = (): number => node.fs.constants.O_RDWR | node.fs.constants.O_CREAT;

/** Writes all of `bytes` at `position`: one call may write less. */
export function writeAll(files: SinkFiles, file: number, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length; )
    at += files.writeSync(file, bytes, at, bytes.length - at, position + at);
}

/** Truncates a file if possible. Used by writers that write at known positions: the rest is overwritten later. */
export function tryTruncate(files: SinkFiles, file: number, size: number): void {
  try {
    files.ftruncateSync(file, size);
  } catch {
    // What lies beyond is written over, or cut off by the next process.
  }
}

const NEWLINE = 10;
const BLOCK = 1 << 18;

/** A line without its newline, its position, and that of the next one. */
export interface WholeLine {
  readonly text: string;
  readonly at: number;
  readonly next: number;
}

/** The lines of an open file between two positions, read block by block. Text without a final newline is no line. */
export function* wholeLines(
  files: Pick<SinkFiles, "readSync">,
  file: number,
  from: number,
  to: number,
): Generator<WholeLine, void, undefined> {
  const block = Buffer.alloc(Math.max(1, Math.min(BLOCK, to - from)));
  let begun: Buffer[] = [];
  let lineAt = from;
  for (let at = from; at < to; ) {
    const got = files.readSync(file, block, 0, Math.min(block.length, to - at), at);
    if (got === 0) return;
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end >= 0 && end < got; end = block.indexOf(NEWLINE, start)) {
      const text = Buffer.concat([...begun, block.subarray(start, end)]).toString();
      begun = [];
      start = end + 1;
      yield { text, at: lineAt, next: at + start };
      lineAt = at + start;
    }
    begun.push(Buffer.from(block.subarray(start, got)));
    at += got;
  }
}

/** The option `files` of sinks that write files: for tests of failing disks. */
export const filesOption = option.object<SinkFiles>("functions as those of node:fs", ["openSync"], {});

const fileSinkOptions = {
  ...sinkOptions,
  /** For tests of failing disks. Default: node:fs. */
  files: filesOption,
};

/** Options of sinks that write one file of lines. */
export interface FileSinkOptions extends Options<typeof fileSinkOptions> {}

/** The path of a sink's file, whole. */
export function checkedPath(kind: string, path: string): string {
  checkValue(kind, "the path", path, option.text({}));
  return node.path.resolve(outputPath(path));
}

/** Checks the path and options of a sink and returns its file, which is not open yet. */
export function lineFile(kind: string, path: string, options: FileSinkOptions): LineFile {
  checkOptions(kind, options, fileSinkOptions);
  return new LineFile(checkedPath(kind, path), options.files);
}

/** A file of lines that grows by whole calls, and can be replaced atomically. For JSONL and CSV. */
export class LineFile {
  readonly path: string;
  readonly #files: SinkFiles;
  #file: number | undefined;
  /** Position of the next line. Bytes beyond it are of a call that failed. */
  #size = 0;
  #isClean = true;

  constructor(path: string, files: SinkFiles = systemFiles()) {
    this.path = path;
    this.#files = files;
  }

  /** Creates the file where there is none. */
  open(): void {
    this.close();
    this.#files.mkdirSync(node.path.dirname(this.path), { recursive: true });
    const file = this.#files.openSync(this.path, readWrite());
    const found = this.#files.fstatSync(file);
    if (!found.isFile()) {
      this.#files.closeSync(file);
      // It would be renamed, and a file put in its place.
      throw new EspalierError("SINK_UNUSABLE", `${this.path} is a device or a pipe, not a file`, {
        fix: "give the path of a file: consoleSink({ stream: process.stdout }) and logFileSink write to such things",
      });
    }
    this.#file = file;
    this.#size = found.size;
    this.#isClean = true;
  }

  lines(): Iterable<WholeLine> {
    return wholeLines(this.#files, this.#opened(), 0, this.#size);
  }

  /**
   * Prepares the file for a run: removes entries that the run files again, and an incomplete last one. The file of
   * another run is set aside. `entries` splits the lines into entries; `position` returns the step and axis of one, or
   * undefined for one that always stays: a header, or a line of another program.
   */
  rewind(
    run: RunInfo,
    position: (entry: WholeLine) => Pick<MetricRecord, "step" | "axis"> | undefined,
    entries: (lines: Iterable<WholeLine>) => Iterable<WholeLine> = (lines) => lines,
  ): void {
    const filed = filedUpTo(run);
    const isRepeated = (entry: WholeLine): boolean => {
      const at = position(entry);
      return at !== undefined && comesAgain(at, filed);
    };
    let end = 0;
    let hasRepeats = false;
    for (const entry of entries(this.lines())) {
      if (filed === undefined && position(entry)) {
        this.setAside();
        return;
      }
      hasRepeats ||= isRepeated(entry);
      end = entry.next;
    }
    if (!hasRepeats) this.#truncate(end);
    else this.replace(kept(entries(this.lines()), (entry) => !isRepeated(entry)));
  }

  /** Appends all of the text or, where it throws, nothing. */
  append(text: string): void {
    const file = this.#opened();
    if (!this.#isClean) this.#files.ftruncateSync(file, this.#size);
    this.#isClean = true;
    const bytes = Buffer.from(text);
    try {
      writeAll(this.#files, file, bytes, this.#size);
    } catch (error) {
      this.#isClean = false;
      tryTruncate(this.#files, file, this.#size);
      throw error;
    }
    this.#size += bytes.length;
  }

  /** Replaces the content by these pieces, which may come from `lines`: writes another file and renames it. */
  replace(pieces: Iterable<string>): void {
    const beside = `${this.path}.new`;
    const file = this.#files.openSync(beside, "w+");
    let size = 0;
    let buffered: string[] = [];
    let length = 0;
    const flush = (): void => {
      const bytes = Buffer.from(buffered.join(""));
      writeAll(this.#files, file, bytes, size);
      size += bytes.length;
      buffered = [];
      length = 0;
    };
    try {
      for (const piece of pieces) {
        buffered.push(piece);
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

  /** Renames the file to the first free of `a.1.jsonl`, `a.2.jsonl`, ... and opens a new one. */
  setAside(): void {
    this.close();
    const { dir, name, ext } = node.path.parse(this.path);
    for (let number = 1; ; number++) {
      const aside = node.path.join(dir, `${name}.${number}${ext}`);
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

  #truncate(size: number): void {
    if (size < this.#size) this.#files.ftruncateSync(this.#opened(), size);
    this.#size = size;
  }

  /** Creates a file of this name if there is none, so that of several processes no two take the same name. */
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

function* kept(entries: Iterable<WholeLine>, keep: (entry: WholeLine) => boolean): Generator<string> {
  for (const entry of entries) if (keep(entry)) yield `${entry.text}\n`;
}

/**
 * A binary file that grows by whole calls, for TensorBoard and W&B: staged bytes are in the file at once, count once
 * they are committed, and are gone when they are dropped, so that a call that failed can be made again.
 */
export class StagedFile {
  readonly path: string;
  readonly #files: SinkFiles;
  readonly #file: number;
  #length = 0;
  #staged = 0;

  /** Opens the file, creates it where there is none, and writes from its beginning. */
  constructor(files: SinkFiles, path: string) {
    files.mkdirSync(node.path.dirname(path), { recursive: true });
    this.path = path;
    this.#files = files;
    this.#file = files.openSync(path, readWrite());
  }

  /** Position of the next byte. */
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
    tryTruncate(this.#files, this.#file, this.#length);
  }

  close(): void {
    this.#files.closeSync(this.#file);
  }
}
