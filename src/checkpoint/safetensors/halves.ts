/** 16-bit floats as they lie in a file, as the 32-bit ones that hold them exactly in JavaScript's memory. */
export function widen(bytes: Uint8Array, dtype: "f16" | "bf16"): Float32Array<ArrayBuffer> {
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
  const wide = new Float32Array(halves.length);
  // Written as bits, so that not even a NaN's bits are touched.
  const bits = new Uint32Array(wide.buffer);
  const convert = dtype === "bf16" ? (half: number) => half << 16 : f16Bits;
  for (let i = 0; i < halves.length; i++) bits[i] = convert(halves[i] as number);
  return wide;
}

/** The reverse of {@link widen}: exact for whatever came from 16 bits. */
export function narrow(wide: Float32Array, dtype: "f16" | "bf16"): Uint8Array<ArrayBuffer> {
  const bits = new Uint32Array(wide.buffer, wide.byteOffset, wide.length);
  const halves = new Uint16Array(wide.length);
  const convert = dtype === "bf16" ? (word: number) => word >>> 16 : halfBits;
  for (let i = 0; i < bits.length; i++) halves[i] = convert(bits[i] as number);
  return new Uint8Array(halves.buffer);
}

function f16Bits(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >>> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 31) return sign | 0x7f800000 | (fraction << 13);
  if (exponent > 0) return sign | ((exponent + 112) << 23) | (fraction << 13);
  if (fraction === 0) return sign;
  // A subnormal half is a normal float: its first bit becomes the one that is not written.
  const shift = Math.clz32(fraction) - 21;
  return sign | ((113 - shift) << 23) | (((fraction << shift) & 1023) << 13);
}

function halfBits(word: number): number {
  const sign = (word >>> 16) & 0x8000;
  const exponent = (word >>> 23) & 255;
  const fraction = (word >>> 13) & 1023;
  if (exponent === 255) return sign | 0x7c00 | fraction;
  if (exponent > 112) return sign | ((exponent - 112) << 10) | fraction;
  if (exponent === 0) return sign;
  return sign | ((fraction | 1024) >>> (113 - exponent));
}
