import { execFileSync } from "node:child_process";

/** A GIF's pictures as they are seen one after the other, and for how many hundredths of a second. */
export interface DecodedGif {
  readonly width: number;
  readonly height: number;
  readonly loops: number | undefined;
  readonly frames: readonly { readonly delay: number; readonly rgb: readonly number[] }[];
}

/** Reads what a GIF89a with a global colour table shows. Written from the specification, apart from the encoder. */
export function decodeGif(bytes: Uint8Array): DecodedGif {
  const data = Buffer.from(bytes);
  if (data.toString("latin1", 0, 6) !== "GIF89a") throw new Error("no GIF89a");
  const [width, height, flags] = [data.readUInt16LE(6), data.readUInt16LE(8), data.readUInt8(10)];
  const colors = 2 << (flags & 7);
  const color = (i: number): number => {
    if (i >= colors) throw new Error(`colour ${i} of ${colors}`);
    return data.readUIntBE(13 + 3 * i, 3);
  };
  let at = 13 + 3 * colors;
  const blocks = (): Buffer => {
    const parts: Buffer[] = [];
    for (;;) {
      const size = data.readUInt8(at++);
      if (size === 0) return Buffer.concat(parts);
      parts.push(data.subarray(at, at + size));
      at += size;
    }
  };
  const screen = Array<number>(width * height).fill(-1);
  const frames: { delay: number; rgb: number[] }[] = [];
  let loops: number | undefined;
  let delay = 0;
  for (;;) {
    const kind = data.readUInt8(at++);
    if (kind === 0x3b) break;
    if (kind === 0x21) {
      const label = data.readUInt8(at++);
      const content = blocks();
      if (label === 0xf9) delay = content.readUInt16LE(1);
      if (label === 0xff && content.toString("latin1", 0, 11) === "NETSCAPE2.0")
        loops = content.readUInt16LE(12);
      continue;
    }
    if (kind !== 0x2c) throw new Error(`block ${kind}`);
    const [left, top, w, h] = [0, 2, 4, 6].map((i) => data.readUInt16LE(at + i)) as [
      number,
      number,
      number,
      number,
    ];
    at += 9;
    const bits = data.readUInt8(at++);
    const indices = unpack(blocks(), bits);
    if (indices.length !== w * h) throw new Error(`${indices.length} pixels of ${w * h}`);
    indices.forEach((index, i) => {
      screen[(top + Math.floor(i / w)) * width + left + (i % w)] = color(index);
    });
    frames.push({ delay, rgb: [...screen] });
  }
  if (at !== data.length) throw new Error(`${data.length - at} bytes after the end`);
  return { width, height, loops, frames };
}

/** Undoes LZW. */
export function unpack(bytes: Uint8Array, bits: number): number[] {
  const clear = 1 << bits;
  let table: number[][] = [];
  let size = bits + 1;
  const reset = (): void => {
    table = Array.from({ length: clear + 2 }, (_, i) => [i]);
    size = bits + 1;
  };
  reset();
  const out: number[] = [];
  let position = 0;
  let before: number[] | undefined;
  for (;;) {
    let code = 0;
    for (let i = 0; i < size; i++, position++) {
      const byte = bytes[position >> 3];
      if (byte === undefined) throw new Error("it ends too early");
      code |= ((byte >> (position & 7)) & 1) << i;
    }
    if (code === clear) {
      reset();
      before = undefined;
      continue;
    }
    if (code === clear + 1) break;
    const entry =
      table[code] ?? (code === table.length && before ? [...before, before[0] as number] : undefined);
    if (!entry) throw new Error(`code ${code} of ${table.length}`);
    if (before && table.length < 4096) {
      table.push([...before, entry[0] as number]);
      if (table.length === 1 << size && size < 12) size++;
    }
    out.push(...entry);
    before = entry;
  }
  if (Math.ceil(position / 8) !== bytes.length) throw new Error("bytes are left");
  return out;
}

/** What Pillow sees in a GIF: for every picture its duration in milliseconds, and its pixels in hexadecimal. */
export type PillowGif = readonly { readonly duration: number; readonly rgb: string }[];

const script = `
import json, sys
from PIL import Image, ImageSequence
image = Image.open(sys.argv[1])
frames = [dict(duration=frame.info["duration"], rgb=frame.convert("RGB").tobytes().hex()) for frame in ImageSequence.Iterator(image)]
print(json.dumps(frames))
`;

/**
 * Pillow, where a Python has it: the one that ESPALIER_BENCH_PYTHON names, else `python3`. Where ESPALIER_REQUIRE names
 * `pillow` its absence is an error, elsewhere the reason to skip.
 */
export function findPillow(): { read(path: string): PillowGif } | { readonly missing: string } {
  const python = process.env.ESPALIER_BENCH_PYTHON || "python3";
  const run = (...args: string[]): string =>
    execFileSync(python, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 2 ** 28 });
  try {
    run("-c", "import PIL.Image");
  } catch {
    const missing = `${python} has no Pillow`;
    if (process.env.ESPALIER_REQUIRE?.includes("pillow"))
      throw new Error(`ESPALIER_REQUIRE=${process.env.ESPALIER_REQUIRE}: ${missing}`);
    return { missing };
  }
  return { read: (path) => JSON.parse(run("-c", script, path)) as PillowGif };
}
