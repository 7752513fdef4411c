import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Drawing, DrawnShape } from "../environment.ts";
import { decodeGif, findPillow, unpack } from "./gif.test-support.ts";
import { asGif, lzw } from "./gif.ts";

const drawing = (shapes: readonly DrawnShape[], width = 10, height = 5): Drawing => ({
  width,
  height,
  shapes,
});
const square = (x: number, color = "red"): DrawnShape => ({
  kind: "rectangle",
  at: [x, 1],
  size: [2, 2],
  color,
});
const moving = Array.from({ length: 8 }, (_, i) => drawing([square(i)]));
/** A picture with nearly as many colours as GIF has. */
const colorful = drawing(
  Array.from({ length: 250 }, (_, i) => ({
    ...{ kind: "rectangle" as const, at: [i % 25, Math.floor(i / 25)] as const, size: [1, 1] as const },
    color: `#${(i * 65_793 + 7).toString(16).padStart(6, "0")}`,
  })),
  25,
  10,
);

describe("lzw", () => {
  it.each([2, 3, 8])("can be undone, with %i bits", (bits) => {
    fc.assert(
      fc.property(fc.uint8Array({ max: (1 << bits) - 1, maxLength: 3000 }), (bytes) => {
        expect(unpack(lzw(bytes, bits), bits)).toEqual([...bytes]);
      }),
      { numRuns: 50 },
    );
  });

  it("can be undone where its table is full, many times over, and at every length around", () => {
    const noise = Uint8Array.from({ length: 20_000 }, (_, i) => Math.imul(i + 1, 2_654_435_761) >>> 24);
    expect(unpack(lzw(noise, 8), 8)).toEqual([...noise]);
    for (let length = 0; length < 300; length++)
      expect(unpack(lzw(noise.subarray(0, length), 8), 8)).toHaveLength(length);
    for (let length = 3830; length < 3850; length++)
      expect(unpack(lzw(noise.subarray(0, length), 8), 8)).toEqual([...noise.subarray(0, length)]);
  });

  it("makes a plain picture small", () => {
    expect(lzw(new Uint8Array(100_000), 2).length).toBeLessThan(500);
  });
});

describe("asGif", () => {
  it("shows every drawing, scaled, and begins again", () => {
    const gif = decodeGif(asGif(moving, { width: 20 }));
    expect(gif).toMatchObject({ width: 20, height: 10, loops: 0 });
    expect(gif.frames).toHaveLength(8);
    gif.frames.forEach(({ rgb }, i) => {
      rgb.forEach((color, at) => {
        const [x, y] = [at % 20, Math.floor(at / 20)];
        const inside = x >= 2 * i && x < 2 * i + 4 && y >= 2 && y < 6;
        expect(color).toBe(inside ? 0xff0000 : 0xffffff);
      });
    });
  });

  it("keeps time without rounding errors that add up", () => {
    const { frames } = decodeGif(asGif(moving, { width: 10, fps: 30, rest: 2 }));
    expect(frames.map(({ delay }) => delay)).toEqual([3, 4, 3, 3, 4, 3, 3, 200]);
  });

  it("leaves drawings out where there are too many a second, never the last", () => {
    const { frames } = decodeGif(asGif(moving, { width: 10, fps: 100 }));
    // Every second, for two hundredths each.
    expect(frames.map(({ delay }) => delay)).toEqual([2, 2, 2, 2, 100]);
    expect(frames.at(-1)?.rgb[1 * 10 + 8]).toBe(0xff0000);
  });

  it("shows for longer what does not change", () => {
    const still = [moving[0], moving[0], moving[0], moving[1]] as Drawing[];
    expect(decodeGif(asGif(still, { width: 10, fps: 50 })).frames.map(({ delay }) => delay)).toEqual([
      6, 100,
    ]);
  });

  it("has as many colours as it needs", () => {
    const { frames } = decodeGif(asGif([colorful], { width: 25 }));
    expect(frames[0]?.rgb).toEqual(Array.from({ length: 250 }, (_, i) => i * 65_793 + 7));
  });

  it("takes the nearest colour where there are more than 256", () => {
    const many = Array.from({ length: 300 }, (_, i) =>
      drawing([square(0, `#${i < 255 ? "0000" : "0100"}${(i % 255).toString(16).padStart(2, "0")}`)]),
    );
    const { frames } = decodeGif(asGif(many, { width: 10, fps: 50 }));
    expect(frames[299 - 1]?.rgb[11]).toBe(43);
  });

  it("has another background", () => {
    expect(decodeGif(asGif([drawing([])], { background: "#123" })).frames[0]?.rgb[0]).toBe(0x112233);
  });

  it.each<[string, readonly Drawing[], object, RegExp]>([
    ["no drawings", [], {}, /there are no drawings/],
    ["pictures too large", moving, { width: 5000 }, /width is 5000/],
    ["a width that is none", moving, { width: 0.5 }, /width is 0.5/],
    ["no time", moving, { fps: 0 }, /fps is 0/],
    ["misspelt options", moving, { widht: 3 }, /did you mean "width"/],
    ["colours that are none", [drawing([square(0, "redd")])], {}, /"redd" is not a colour.*COLOR_UNKNOWN/s],
  ])("refuses %s", (_what, drawings, options, message) => {
    expect(() => asGif(drawings, options)).toThrow(message);
  });
});

const pillow = findPillow();
const name = "is read by Pillow as it is by ours";
if ("missing" in pillow) {
  if (!process.env.ESPALIER_REQUIRE) it.skip(`${name}: ${pillow.missing}`, () => undefined);
} else
  it(name, () => {
    const directory = mkdtempSync(join(tmpdir(), "espalier-gif-"));
    try {
      for (const [drawings, width] of [
        [moving, 200],
        [[colorful, drawing([square(3)], 25, 10)], 500],
      ] as const) {
        const gif = asGif(drawings, { width, fps: 20 });
        const file = join(directory, "a.gif");
        writeFileSync(file, gif);
        const ours = decodeGif(gif).frames.map(({ delay, rgb }) => ({
          duration: 10 * delay,
          rgb: rgb.map((color) => color.toString(16).padStart(6, "0")).join(""),
        }));
        expect(pillow.read(file)).toEqual(ours);
      }
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
