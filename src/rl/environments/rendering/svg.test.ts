import { describe, expect, it } from "vitest";
import type { Drawing } from "../environment.ts";
import { asSvg, asSvgAnimation } from "./svg.ts";

const drawing: Drawing = {
  width: 4,
  height: 2,
  shapes: [
    { kind: "line", from: [0, 1], to: [4, 1 / 3], color: "black", width: 0.1 },
    { kind: "line", from: [0, 0], to: [4, 0], color: "gray" },
    { kind: "rectangle", at: [1, 1], size: [0.5, 0.25], color: "#ff0000" },
    { kind: "circle", at: [2, -0], radius: 0.1, color: "blue" },
    {
      kind: "path",
      points: [
        [0, 0],
        [1, 1],
      ],
      color: "green",
    },
    {
      kind: "path",
      points: [
        [0, 0],
        [1, 1],
        [0, 1],
      ],
      color: 'x"y',
      filled: true,
    },
  ],
  caption: "a < b & c",
};

describe("asSvg", () => {
  it("has an element for each shape, with no more digits than are seen", () => {
    expect(asSvg(drawing, { width: 400 })).toBe(
      [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 2.24" width="400" height="224">',
        '<line x1="0" y1="1" x2="4" y2="0.3333" stroke="black" stroke-width="0.1"/>',
        '<line x1="0" y1="0" x2="4" y2="0" stroke="gray" stroke-width="1" vector-effect="non-scaling-stroke"/>',
        '<rect x="1" y="1" width="0.5" height="0.25" fill="#ff0000"/>',
        '<circle cx="2" cy="0" r="0.1" fill="blue"/>',
        '<polyline points="0,0 1,1" fill="none" stroke="green" stroke-width="1" vector-effect="non-scaling-stroke"/>',
        '<polygon points="0,0 1,1 0,1" fill="x&#34;y"/>',
        '<text x="2" y="2.168" text-anchor="middle" font-family="sans-serif" font-size="0.168">a &#60; b &#38; c</text>',
        "</svg>",
        "",
      ].join("\n"),
    );
  });

  it("refuses a width of nothing", () => {
    expect(() => asSvg(drawing, { width: 0 })).toThrow(/width is 0/);
  });
});

describe("asSvgAnimation", () => {
  const at = (x: number): Drawing => ({
    width: 2,
    height: 1,
    shapes: [
      { kind: "line", from: [0, 1], to: [2, 1], color: "black", width: 0.1 },
      { kind: "circle", at: [x, 0], radius: 0.1, color: "red" },
    ],
  });
  const circle = (x: number): string => `<circle cx="${x}" cy="0" r="0.1" fill="red"/>`;
  const animate = (values: string, times: string): string =>
    `<animate attributeName="visibility" values="${values}" keyTimes="${times}" dur="2s" calcMode="discrete" repeatCount="indefinite"/>`;

  it("shows each drawing in its time, what stays the same once", () => {
    const lines = asSvgAnimation([at(0), at(0), at(1), at(2)], { fps: 2 }).split("\n");
    expect(lines.slice(1)).toEqual([
      '<line x1="0" y1="1" x2="2" y2="1" stroke="black" stroke-width="0.1"/>',
      `<g visibility="visible">${animate("visible;hidden", "0;0.5")}${circle(0)}</g>`,
      `<g visibility="hidden">${animate("hidden;visible;hidden", "0;0.5;0.75")}${circle(1)}</g>`,
      `<g visibility="hidden">${animate("hidden;visible", "0;0.75")}${circle(2)}</g>`,
      "</svg>",
      "",
    ]);
  });

  it("is a still picture of drawings that do not change", () => {
    expect(asSvgAnimation([at(1), at(1)])).toBe(asSvg(at(1)));
  });

  it("refuses no drawings and no time", () => {
    expect(() => asSvgAnimation([])).toThrow(/there are no drawings/);
    expect(() => asSvgAnimation([at(0)], { fps: 0 })).toThrow(/fps is 0/);
  });
});
