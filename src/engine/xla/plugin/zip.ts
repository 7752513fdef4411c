import { EspalierError, node } from "../../../core/index.ts";

/** One file of a zip archive. */
export interface ZipEntry {
  readonly name: string;
  readonly bytes: number;
  /** Its content, piece by piece; fails at the end where length or checksum do not hold. */
  chunks(): AsyncIterable<Uint8Array>;
}

interface DirectoryEntry {
  readonly name: string;
  readonly flags: number;
  readonly method: number;
  readonly checksum: number;
  readonly packed: number;
  readonly bytes: number;
  readonly local: number;
}

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
const CENTRAL_BYTES = 46;
const LOCAL_BYTES = 30;
const LONGEST_COMMENT = 0xffff;
const STORED = 0;
const DEFLATED = 8;

/**
 * Lists the files of a zip archive: stored and deflated ones, as wheels have.
 * Archives beyond 4 GiB and encrypted files are refused.
 */
export async function openZip(path: string): Promise<readonly ZipEntry[]> {
  const file = await node.fs.promises.open(path);
  try {
    const { size } = await file.stat();
    const read = async (from: number, length: number): Promise<Buffer> => {
      if (from < 0 || from + length > size) throw invalid("it is cut off or damaged");
      return (await file.read(Buffer.alloc(length), 0, length, from)).buffer;
    };
    const tail = Math.min(size, END_BYTES + LONGEST_COMMENT);
    const end = findEnd(await read(size - tail, tail));
    const directory = await read(end.readUInt32LE(16), end.readUInt32LE(12));
    return parseDirectory(directory, end.readUInt16LE(10)).map((entry) => ({
      name: entry.name,
      bytes: entry.bytes,
      chunks: () => unpack(path, entry),
    }));
  } finally {
    await file.close();
  }
}

/** The end record stands last, but for a comment of unknown length. */
function findEnd(tail: Buffer): Buffer {
  for (let at = tail.length - END_BYTES; at >= 0; at--)
    if (tail.readUInt32LE(at) === END) return tail.subarray(at);
  throw invalid("it has no directory; the file is no zip, or is cut off");
}

function parseDirectory(directory: Buffer, count: number): readonly DirectoryEntry[] {
  const entries: DirectoryEntry[] = [];
  for (let at = 0; entries.length < count; ) {
    if (at + CENTRAL_BYTES > directory.length || directory.readUInt32LE(at) !== CENTRAL)
      throw invalid("its directory is damaged");
    const nameEnd = at + CENTRAL_BYTES + directory.readUInt16LE(at + 28);
    entries.push({
      name: directory.toString("utf8", at + CENTRAL_BYTES, nameEnd),
      flags: directory.readUInt16LE(at + 8),
      method: directory.readUInt16LE(at + 10),
      checksum: directory.readUInt32LE(at + 16),
      packed: directory.readUInt32LE(at + 20),
      bytes: directory.readUInt32LE(at + 24),
      local: directory.readUInt32LE(at + 42),
    });
    at = nameEnd + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  return entries;
}

async function* unpack(path: string, entry: DirectoryEntry): AsyncIterable<Uint8Array> {
  const start = await contentStart(path, entry);
  let bytes = 0;
  let checksum = 0;
  if (entry.bytes > 0 || entry.packed > 0) {
    try {
      for await (const chunk of contentFrom(path, start, entry) as AsyncIterable<Uint8Array>) {
        bytes += chunk.length;
        checksum = node.zlib.crc32(chunk, checksum);
        yield chunk;
      }
    } catch (cause) {
      if (isZlibError(cause)) throw invalid(`${entry.name} is damaged`, cause);
      throw cause;
    }
  }
  if (bytes !== entry.bytes) throw invalid(`${entry.name} has ${bytes} bytes instead of ${entry.bytes}`);
  if (checksum !== entry.checksum) throw invalid(`${entry.name} fails its checksum`);
}

function contentFrom(
  path: string,
  start: number,
  { name, method, packed }: DirectoryEntry,
): NodeJS.ReadableStream {
  const source = node.fs.createReadStream(path, { start, end: start + packed - 1 });
  if (method === STORED) return source;
  if (method !== DEFLATED) throw invalid(`${name} is compressed in a way (${method}) that is not supported`);
  const inflate = node.zlib.createInflateRaw();
  source.on("error", (error) => inflate.destroy(error));
  inflate.on("close", () => source.destroy());
  return source.pipe(inflate);
}

/** The file's own header, just before its content, has a length that only it tells. */
async function contentStart(path: string, { name, flags, local }: DirectoryEntry): Promise<number> {
  if (flags & 1) throw invalid(`${name} is encrypted`);
  const file = await node.fs.promises.open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOCAL_BYTES), 0, LOCAL_BYTES, local);
    if (bytesRead < LOCAL_BYTES || buffer.readUInt32LE(0) !== LOCAL)
      throw invalid(`${name} is not where the directory says`);
    return local + LOCAL_BYTES + buffer.readUInt16LE(26) + buffer.readUInt16LE(28);
  } finally {
    await file.close();
  }
}

function isZlibError(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && String(cause.code).startsWith("Z_");
}

function invalid(reason: string, cause?: unknown): EspalierError {
  return new EspalierError("WHEEL_INVALID", `the archive cannot be read: ${reason}`, {
    fix: "download it again",
    cause,
  });
}
