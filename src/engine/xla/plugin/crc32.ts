const table = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** The checksum zip archives use, of `bytes` following what gave `before`. (Node has its own only since 20.15.) */
export function crc32(bytes: Uint8Array, before = 0): number {
  let value = ~before;
  for (let i = 0; i < bytes.length; i++)
    value = (value >>> 8) ^ (table[(value ^ (bytes[i] as number)) & 0xff] as number);
  return ~value >>> 0;
}
