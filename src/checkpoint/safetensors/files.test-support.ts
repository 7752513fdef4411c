import type { ReadableBytes } from "./tensors.ts";

/** A file in memory that notes what was read of it. */
export function fileOf(bytes: Uint8Array): ReadableBytes & { readonly reads: (readonly [number, number])[] } {
  const reads: (readonly [number, number])[] = [];
  return {
    size: bytes.length,
    reads,
    read: async (from, length) => {
      reads.push([from, length]);
      return Uint8Array.from(bytes.subarray(from, from + length));
    },
  };
}

/** A file with this text as its header, and so many bytes of data. */
export function withHeader(text: string, dataBytes: number): Uint8Array {
  const header = new TextEncoder().encode(text);
  const file = new Uint8Array(8 + header.length + dataBytes);
  new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
  file.set(header, 8);
  return file;
}
