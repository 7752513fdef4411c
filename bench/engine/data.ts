/** Numbers in [-scale, scale) that depend on the seed and the position alone, the same in bench/peers/protocol.py. */
export function numbers(seed: number, size: number, scale = 1): Float32Array<ArrayBuffer> {
  const result = new Float32Array(size);
  const offset = Math.imul(seed, 0x9e3779b9);
  for (let i = 0; i < size; i++) {
    let h = i + offset;
    h ^= h >>> 16;
    h = Math.imul(h, 0x21f0aaad);
    h ^= h >>> 15;
    h = Math.imul(h, 0x735a2d97);
    h ^= h >>> 15;
    result[i] = ((h >>> 0) / 2 ** 31 - 1) * scale;
  }
  return result;
}
