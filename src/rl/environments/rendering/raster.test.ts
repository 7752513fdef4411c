import { describe, expect, it } from "vitest";
import type { DrawnShape } from "../environment.ts";
import { colorOf, Palette, rasterise } from "./raster.ts";

/** A picture of 9 x 5 units, a pixel a unit, as lines of # and dots. */
function picture(...shapes: DrawnShape[]): string[] {
  const pixels = rasterise(
    { width: 9, height: 5, shapes },
    { width: 9, height: 5, scale: 1, palette: new Palette(), background: "white" },
  );
  return Array.from({ length: 5 }, (_, y) =>
    [...pixels.subarray(9 * y, 9 * y + 9)].map((index) => (index ? "#" : ".")).join(""),
  );
}
const color = "black";

describe("rasterise", () => {
  it("fills rectangles, and cuts what lies outside", () => {
    expect(picture({ kind: "rectangle", at: [1, 1], size: [3, 2], color })).toEqual([
      ".........",
      ".###.....",
      ".###.....",
      ".........",
      ".........",
    ]);
    expect(picture({ kind: "rectangle", at: [7, -3], size: [30, 5], color })).toEqual([
      ".......##",
      ".......##",
      ".........",
      ".........",
      ".........",
    ]);
  });

  it("fills circles", () => {
    expect(picture({ kind: "circle", at: [4.5, 2.5], radius: 2.3, color })).toEqual([
      "...###...",
      "..#####..",
      "..#####..",
      "..#####..",
      "...###...",
    ]);
  });

  it("draws lines as thick as they are, and never with holes", () => {
    expect(picture({ kind: "line", from: [0, 2], to: [9, 2], color, width: 2 })).toEqual([
      ".........",
      "#########",
      "#########",
      ".........",
      ".........",
    ]);
    const steep = picture({ kind: "line", from: [0, 0], to: [9, 5], color, width: 0.01 });
    expect(steep.join("").match(/#/g)?.length).toBeGreaterThanOrEqual(9);
    expect(picture({ kind: "line", from: [3, 3], to: [3, 3], color })).toEqual(picture());
  });

  it("fills paths, also those that cross themselves, and draws open ones", () => {
    const corners = [
      [1, 1],
      [5, 1],
      [5, 4],
      [1, 4],
    ] as const;
    expect(picture({ kind: "path", points: corners, color, filled: true })).toEqual([
      ".........",
      ".####....",
      ".####....",
      ".####....",
      ".........",
    ]);
    // Round twice: as SVG does, that is filled too.
    const twice = [...corners, ...corners];
    expect(picture({ kind: "path", points: twice, color, filled: true })[2]).toBe(".####....");
    expect(
      picture({
        kind: "path",
        points: [
          [0, 2.5],
          [5, 2.5],
          [5, 5],
        ],
        color,
      }),
    ).toEqual([
      ".........",
      ".........",
      "#####....",
      expect.stringMatching(/^....[.#][.#]...$/),
      expect.stringMatching(/^....[.#][.#]...$/),
    ]);
  });

  it("draws later shapes over earlier ones, and nothing of numbers that are none", () => {
    const below: DrawnShape = { kind: "rectangle", at: [0, 0], size: [9, 5], color };
    expect(picture(below, { kind: "rectangle", at: [1, 1], size: [3, 2], color: "white" })[1]).toBe(
      "#...#####",
    );
    expect(picture({ kind: "circle", at: [Number.NaN, 2], radius: 2, color })).toEqual(picture());
  });
});

describe("colorOf", () => {
  it.each([
    ["#3b6ea5", 0x3b6ea5],
    ["#FFF", 0xffffff],
    ["black", 0],
    ["RebeccaPurple", 0x663399],
    ["yellowgreen", 0x9acd32],
  ])("knows %s", (text, rgb) => {
    expect(colorOf(text)).toBe(rgb);
  });
});
