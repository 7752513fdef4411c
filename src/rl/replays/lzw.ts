/** Codes have at most 12 bits. */
const MOST = 4096;

/** Bytes below 2^bits packed as GIF packs them: LZW with codes that grow, from `bits` + 1 on, lowest bit first. */
export function lzw(bytes: Uint8Array, bits: number): Uint8Array {
  const clear = 1 << bits;
  const end = clear + 1;
  const out: number[] = [];
  let held = 0;
  let count = 0;
  let size = bits + 1;
  const put = (code: number): void => {
    held |= code << count;
    count += size;
    for (; count >= 8; count -= 8, held >>>= 8) out.push(held & 255);
  };
  let table = new Map<number, number>();
  let next = end + 1;
  put(clear);
  let prefix = -1;
  for (const byte of bytes) {
    if (prefix < 0) {
      prefix = byte;
      continue;
    }
    const key = (prefix << 8) | byte;
    const known = table.get(key);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    put(prefix);
    if (next < MOST) {
      table.set(key, next);
      // Whoever unpacks is one entry behind: the code grows when it, too, has no room left.
      if (next === 1 << size) size++;
      next++;
    } else {
      put(clear);
      table = new Map();
      next = end + 1;
      size = bits + 1;
    }
    prefix = byte;
  }
  if (prefix >= 0) put(prefix);
  // The code just put was one more entry for whoever unpacks.
  if (prefix >= 0 && next === 1 << size && size < 12) size++;
  put(end);
  if (count > 0) out.push(held & 255);
  return Uint8Array.from(out);
}
