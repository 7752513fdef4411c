import { badOption, type Options, option, resolveOptions } from "../../../core/index.ts";
import type { Drawing } from "../environment.ts";
import { Palette, rasterise } from "./raster.ts";

const optionTable = {
  /** Width in pixels. Default: 400. */
  width: option.integer({ min: 1, max: 4096, default: 400 }),
  /** Drawings per second. Default: 30. */
  fps: option.number({ above: 0, max: 1000, default: 30 }),
  /** Default: "white". */
  background: option.text({ default: "white" }),
  /** Seconds for which the last picture stays. Default: 1. */
  rest: option.number({ min: 0, default: 1 }),
};

/** In hundredths of a second: viewers show shorter frames for a tenth of a second. */
const SHORTEST = 2;

/**
 * Writes drawings as an animated GIF that repeats. Captions are left out, and drawings if there are more per second than
 * GIF can show.
 *
 * @example
 * ```ts
 * await writeFile("episode.gif", asGif(replayFrames(replay, environment), { width: 320 }));
 * ```
 */
export function asGif(drawings: readonly Drawing[], options: Options<typeof optionTable> = {}): Uint8Array {
  const { width, fps, background, rest } = resolveOptions("asGif", options, optionTable);
  const [first] = drawings;
  if (!first) throw badOption("asGif", "there are no drawings", "give one at least");
  const scale = width / first.width;
  const height = Math.max(1, Math.round(first.height * scale));
  if (height > 4096)
    throw badOption(
      "asGif",
      `the pictures are ${width} x ${height} pixels`,
      "give a smaller width: 4096 is the most",
    );
  const palette = new Palette();
  const draw = (drawing: Drawing): Uint8Array =>
    rasterise(drawing, { width, height, scale, palette, background });

  const stride = Math.max(1, Math.ceil((SHORTEST * fps) / 100));
  const shownOnes = drawings.filter((_, i) => i % stride === 0 || i === drawings.length - 1);
  /** Hundredths of a second from the beginning: so that rounding does not add up. */
  const time = (i: number): number => Math.round((100 * i * stride) / fps);
  const frames: Frame[] = [];
  let before: Uint8Array | undefined;
  shownOnes.forEach((drawing, i) => {
    const pixels = draw(drawing);
    const last = i === shownOnes.length - 1;
    const delay = last ? Math.max(SHORTEST, Math.round(100 * rest)) : time(i + 1) - time(i);
    const part = partThatChanged(before, pixels, width, height);
    const previous = frames.at(-1);
    if (part) frames.push({ ...part, delay });
    else if (previous) previous.delay += delay;
    before = pixels;
  });
  return encoded(width, height, palette.colors, frames);
}

interface Part {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}
interface Frame extends Part {
  /** Hundredths of a second. */
  delay: number;
}

/** The smallest rectangle that contains all changes; undefined if there are none. */
function partThatChanged(
  before: Uint8Array | undefined,
  now: Uint8Array,
  width: number,
  height: number,
): Part | undefined {
  if (!before) return { left: 0, top: 0, width, height, pixels: now };
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let i = 0; i < now.length; i++) {
    if (now[i] === before[i]) continue;
    const [x, y] = [i % width, Math.floor(i / width)];
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x), Math.max(bottom, y)];
  }
  if (right < 0) return undefined;
  const [w, h] = [right - left + 1, bottom - top + 1];
  const pixels = new Uint8Array(w * h);
  for (let y = 0; y < h; y++) {
    const from = (top + y) * width + left;
    pixels.set(now.subarray(from, from + w), y * w);
  }
  return { left, top, width: w, height: h, pixels };
}

function encoded(
  width: number,
  height: number,
  colors: readonly number[],
  frames: readonly Frame[],
): Uint8Array {
  const bits = Math.max(1, Math.ceil(Math.log2(colors.length)));
  const table = Array.from({ length: 1 << bits }, (_, i) => colors[i] ?? 0);
  const u16 = (n: number): readonly number[] => [n & 255, (n >> 8) & 255];
  const chunks: Uint8Array[] = [];
  const put = (...bytes: number[]): void => void chunks.push(Uint8Array.from(bytes));
  chunks.push(Buffer.from("GIF89a", "latin1"));
  put(...u16(width), ...u16(height), 0x80 | 0x70 | (bits - 1), 0, 0);
  put(...table.flatMap((rgb) => [rgb >> 16, (rgb >> 8) & 255, rgb & 255]));
  // The extension that repeats the animation.
  put(0x21, 0xff, 11, ...Buffer.from("NETSCAPE2.0", "latin1"), 3, 1, 0, 0, 0);
  const least = Math.max(2, bits);
  for (const { left, top, width: w, height: h, pixels, delay } of frames) {
    // Pixels stay: the next frame draws what changed.
    put(0x21, 0xf9, 4, 1 << 2, ...u16(Math.min(delay, 65_535)), 0, 0);
    put(0x2c, ...u16(left), ...u16(top), ...u16(w), ...u16(h), 0, least);
    const packed = lzw(pixels, least);
    for (let at = 0; at < packed.length; at += 255) {
      const block = packed.subarray(at, at + 255);
      put(block.length);
      chunks.push(block);
    }
    put(0);
  }
  put(0x3b);
  return Buffer.concat(chunks);
}

/** Codes have at most 12 bits. */
const MOST = 4096;

/** Compresses bytes below 2^bits as GIF does: LZW with codes that grow from `bits` + 1, lowest bit first. */
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
      // The decoder is one entry behind: codes grow when it has no room left either.
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
  // The last code is one more entry for the decoder.
  if (prefix >= 0 && next === 1 << size && size < 12) size++;
  put(end);
  if (count > 0) out.push(held & 255);
  return Uint8Array.from(out);
}
