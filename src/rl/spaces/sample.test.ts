import { describe, expect, it } from "vitest";
import { RandomStreams } from "../../random/index.ts";
import { box, contains, dict, discrete, multiDiscrete, sampleSpace } from "./index.ts";

const stream = (seed = 1) => new RandomStreams(seed).get("actions");
const many = <T>(n: number, draw: () => T): T[] => Array.from({ length: n }, draw);
const mean = (x: readonly number[]): number => x.reduce((sum, v) => sum + v, 0) / x.length;

describe("sampleSpace", () => {
  it("draws what lies in the space, the same for the same seed", () => {
    const space = dict({ a: multiDiscrete([2, 3]), b: box({ shape: [2, 2], low: -1, high: [1, 2, 3, 4] }) });
    const [one, other] = [stream(), stream()];
    const drawn = many(100, () => sampleSpace(space, one));
    expect(drawn.every((value) => contains(space, value))).toBe(true);
    expect(many(100, () => sampleSpace(space, other))).toEqual(drawn);
    expect(sampleSpace(space, stream(2))).not.toEqual(drawn[0]);
  });

  it("draws every choice", () => {
    const from = stream();
    expect(new Set(many(100, () => sampleSpace(discrete(4), from)))).toEqual(new Set([0, 1, 2, 3]));
  });

  // Means of 2,000 numbers, so that five deviations of them are some 0.11.
  it.each([
    ["uniform between bounds", { low: -1, high: 5 }, 2, 3],
    ["exponential above a bound", { low: 3 }, 4, 1],
    ["exponential below a bound", { high: 3 }, 2, 1],
    ["normal without", {}, 0, 1],
  ])("draws numbers that are %s", (_, bounds, middle, variance) => {
    const space = box({ shape: [2000], ...bounds });
    const drawn = sampleSpace(space, stream());
    expect(contains(space, drawn)).toBe(true);
    expect(Math.abs(mean([...drawn]) - middle)).toBeLessThan(0.2);
    expect(Math.abs(mean([...drawn].map((x) => (x - middle) ** 2)) - variance)).toBeLessThan(0.6);
  });

  it("leaves out what a mask forbids", () => {
    const from = stream();
    const space = dict({ a: discrete(3), b: multiDiscrete([2, 2]) });
    const mask = Uint8Array.of(0, 1, 0, 1, 1, 1, 0);
    const drawn = many(50, () => sampleSpace(space, from, mask));
    expect(drawn.every(({ a, b }) => a === 1 && b[1] === 0)).toBe(true);
    expect(new Set(drawn.map(({ b }) => b[0]))).toEqual(new Set([0, 1]));
  });

  it("refuses a mask that allows nothing, or is too short", () => {
    const refused = expect.objectContaining({ code: "SPACE_MISMATCH" });
    expect(() => sampleSpace(discrete(2), stream(), new Uint8Array(2))).toThrow(refused);
    expect(() => sampleSpace(discrete(3), stream(), new Uint8Array(2).fill(1))).toThrow(refused);
  });
});
