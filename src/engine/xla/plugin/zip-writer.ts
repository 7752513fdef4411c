import { node } from "../../../core/index.ts";

/** For tests: one file of an archive to be made. */
export interface ZipSource {
  readonly name: string;
  readonly content: Uint8Array;
  readonly deflate?: boolean;
  /** General purpose bits; 1 means encrypted. */
  readonly flags?: number;
}

/** For tests: builds a zip archive by hand. */
export function makeZip(sources: readonly ZipSource[], comment = ""): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, content, deflate = false, flags = 0 } of sources) {
    const packed = deflate ? node.zlib.deflateRawSync(content) : Buffer.from(content);
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(flags, 2);
    shared.writeUInt16LE(deflate ? 8 : 0, 4);
    shared.writeUInt32LE(node.zlib.crc32(content), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(content.length, 18);
    shared.writeUInt16LE(Buffer.byteLength(name), 22);
    const extra = Buffer.from("extra"); // only in the local header, as some writers do
    const localShared = Buffer.from(shared);
    localShared.writeUInt16LE(extra.length, 24);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), localShared, Buffer.from(name), extra, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(at, 10);
    directory.push(Buffer.from("PK\x01\x02"), Buffer.from([20, 0]), shared, tail, Buffer.from(name));
    parts.push(local);
    at += local.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(sources.length, 4);
  end.writeUInt16LE(sources.length, 6);
  end.writeUInt32LE(index.length, 8);
  end.writeUInt32LE(at, 12);
  end.writeUInt16LE(Buffer.byteLength(comment), 16);
  return Buffer.concat([...parts, index, Buffer.from("PK\x05\x06"), end, Buffer.from(comment)]);
}
