/** The checksum of `bytes` from one place up to another, going on from what came before. */
export type Crc = (bytes: Uint8Array, from: number, to: number, before?: number) => number;

/** A 32-bit cyclic redundancy check by its reversed polynomial, eight bytes at a time. */
export function crcOf(polynomial: number): Crc {
  const tables = tablesOf(polynomial);
  // What is read lies within: places below `to` in the bytes, eight bits and the beginning of a table in the tables.
  return (bytes, from, to, before = 0) => {
    let crc = ~before;
    let at = from;
    for (; at + 8 <= to; at += 8) {
      crc ^= bytes[at] as number;
      crc ^= (bytes[at + 1] as number) << 8;
      crc ^= (bytes[at + 2] as number) << 16;
      crc ^= (bytes[at + 3] as number) << 24;
      crc =
        (tables[1792 + (crc & 255)] as number) ^
        (tables[1536 + ((crc >>> 8) & 255)] as number) ^
        (tables[1280 + ((crc >>> 16) & 255)] as number) ^
        (tables[1024 + (crc >>> 24)] as number) ^
        (tables[768 + (bytes[at + 4] as number)] as number) ^
        (tables[512 + (bytes[at + 5] as number)] as number) ^
        (tables[256 + (bytes[at + 6] as number)] as number) ^
        (tables[bytes[at + 7] as number] as number);
    }
    for (; at < to; at++) crc = (tables[(crc ^ (bytes[at] as number)) & 255] as number) ^ (crc >>> 8);
    return ~crc >>> 0;
  };
}

/** Table 0 is of one byte; table n of one byte that n others follow. */
function tablesOf(polynomial: number): Uint32Array {
  const tables = new Uint32Array(8 * 256);
  for (let i = 0; i < 256; i++) {
    let crc = i;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    tables[i] = crc;
  }
  for (let i = 256; i < tables.length; i++) {
    const before = tables[i - 256] as number;
    tables[i] = (before >>> 8) ^ (tables[before & 255] as number);
  }
  return tables;
}

/** Castagnoli's, as TensorFlow's files have it. */
export const crc32c: Crc = crcOf(0x82f63b78);
/** As zlib has it. */
export const crc32: Crc = crcOf(0xedb88320);
