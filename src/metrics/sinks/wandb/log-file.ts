import { node, ProtoWriter } from "../../../core/index.ts";
import { type SinkFiles, StagedFile } from "../files.ts";

/** The log is cut into blocks; no chunk of a record crosses the end of one. */
export const BLOCK = 32 * 1024;
/** Checksum, size and kind of a chunk. */
const CHUNK_HEADER = 7;
const chunk = { whole: 1, first: 2, middle: 3, last: 4 } as const;
/** `:W&B`, a magic number, the version of the format. */
const FILE_HEADER = Uint8Array.of(0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0);

/** Bytes that are gathered before they go to the file, within one call. */
const PIECE = 1 << 20;
const NUMBER = 1;

/** A `.wandb` file being written: records of W&B's, numbered, in a log as LevelDB has it. */
export class LogFile {
  readonly #file: StagedFile;
  readonly #crc32 = node.zlib.crc32;
  readonly #out = new ProtoWriter(2 * PIECE);
  #number = 1;
  #committed = 1;

  /** A new file. */
  constructor(files: SinkFiles, path: string) {
    this.#file = new StagedFile(files, path);
    try {
      this.#file.stage(FILE_HEADER);
      this.#file.commit();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Adds a record of one kind, the field that it is of a Record. */
  add(kind: number, write: (out: ProtoWriter) => void): void {
    const start = this.#beginRecord();
    this.#out.integer(NUMBER, this.#number++);
    const message = this.#out.begin(kind);
    write(this.#out);
    this.#out.end(message);
    this.#endRecord(start);
  }

  /** Adds a record as it stood in another file, with its number. Those after it have higher ones. */
  copy(record: Uint8Array, number: number): void {
    const start = this.#beginRecord();
    this.#out.raw(record);
    this.#endRecord(start);
    this.#number = Math.max(this.#number, number + 1);
  }

  /** Everything is in the file, though not for good. */
  stage(): void {
    this.#file.stage(this.#out.bytes());
    this.#out.clear();
  }

  commit(): void {
    this.#file.commit();
    this.#committed = this.#number;
  }

  drop(): void {
    this.#out.clear();
    this.#file.drop();
    this.#number = this.#committed;
  }

  close(): void {
    this.#file.close();
  }

  /** Bytes left in the block. */
  #left(): number {
    return BLOCK - ((this.#file.length + this.#out.length) % BLOCK);
  }

  #beginRecord(): number {
    if (this.#out.length >= PIECE) this.stage();
    this.#fillBlock();
    return this.#out.claim(CHUNK_HEADER) + CHUNK_HEADER;
  }

  #endRecord(start: number): void {
    const out = this.#out;
    const size = out.length - start;
    // None where the header ends with the block: the first chunk is empty then.
    const room = (BLOCK - ((this.#file.length + start) % BLOCK)) % BLOCK;
    if (size <= room) this.#head(start, size, chunk.whole);
    else this.#split(start, Buffer.from(out.buffer.subarray(start, out.length)), room);
  }

  /** Writes a record once more, in as many chunks as it needs. */
  #split(start: number, record: Buffer, room: number): void {
    const out = this.#out;
    out.length = start - CHUNK_HEADER;
    let size = room;
    for (let at = 0, kind: number = chunk.first; kind !== 0; ) {
      const begun = out.claim(CHUNK_HEADER) + CHUNK_HEADER;
      out.raw(record.subarray(at, at + size));
      this.#head(begun, size, kind);
      at += size;
      size = Math.min(record.length - at, BLOCK - CHUNK_HEADER);
      kind = size === 0 ? 0 : at + size === record.length ? chunk.last : chunk.middle;
    }
  }

  /** Leaves the rest of a block empty that has no room for a header. */
  #fillBlock(): void {
    const left = this.#left();
    if (left < CHUNK_HEADER) for (let i = 0; i < left; i++) this.#out.byte(0);
  }

  #head(start: number, size: number, kind: number): void {
    const { buffer } = this.#out;
    buffer[start - 1] = kind;
    buffer[start - 2] = size >>> 8;
    buffer[start - 3] = size & 255;
    this.#out.rawUint32(this.#crc32(buffer.subarray(start - 1, start + size)), start - CHUNK_HEADER);
  }
}

/**
 * The records of a `.wandb` file, up to its end or to the first that is not whole: a process that was killed leaves
 * one. A record's memory is the reader's only until the next one.
 */
export function* readLog(
  files: Pick<SinkFiles, "openSync" | "readSync" | "closeSync">,
  path: string,
): Generator<Buffer, void, undefined> {
  const { crc32 } = node.zlib;
  const file = files.openSync(path, "r");
  try {
    const block = Buffer.alloc(BLOCK);
    let parts: Buffer[] = [];
    for (let position = 0; ; position += BLOCK) {
      const size = fill(files, file, block, position);
      let at = 0;
      if (position === 0) {
        if (!block.subarray(0, FILE_HEADER.length).equals(FILE_HEADER)) return;
        at = FILE_HEADER.length;
      }
      for (; size - at >= CHUNK_HEADER && BLOCK - at >= CHUNK_HEADER; ) {
        const start = at + CHUNK_HEADER;
        const end = start + block.readUInt16LE(at + 4);
        if (end > size || block.readUInt32LE(at) !== crc32(block.subarray(start - 1, end))) return;
        const kind = block[start - 1];
        if (kind === chunk.whole || kind === chunk.first) parts = [];
        parts.push(
          kind === chunk.whole ? block.subarray(start, end) : Buffer.from(block.subarray(start, end)),
        );
        if (kind === chunk.whole || kind === chunk.last)
          yield parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
        at = end;
      }
      if (size < BLOCK) return;
    }
  } finally {
    files.closeSync(file);
  }
}

/** Reads as much as there is. */
function fill(files: Pick<SinkFiles, "readSync">, file: number, block: Buffer, position: number): number {
  let size = 0;
  for (let got = -1; got !== 0 && size < block.length; size += got)
    got = files.readSync(file, block, size, block.length - size, position + size);
  return size;
}
