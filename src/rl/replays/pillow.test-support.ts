import { execFileSync } from "node:child_process";

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
