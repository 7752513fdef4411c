import { describe, expect, it } from "vitest";
import {
  actionSize,
  box,
  choices,
  dict,
  discrete,
  flatSize,
  multiDiscrete,
  readAction,
  type Space,
  type SpaceValue,
  writeAction,
  writeFlat,
} from "./index.ts";

const space = dict({
  b: multiDiscrete([2, 3]),
  a: box({ shape: [2, 2] }),
  c: dict({ z: discrete(3), y: box({ shape: [1] }) }),
});
const value = { c: { z: 2, y: [9] }, b: [1, 0], a: Float32Array.of(1, 2, 3, 4) };

function row(size: number, write: (into: Float32Array) => number): number[] {
  const into = new Float32Array(size + 2).fill(-7);
  expect(write(into)).toBe(size + 1);
  expect([into[0], into.at(-1)]).toEqual([-7, -7]);
  return [...into.subarray(1, -1)];
}

describe("observations as rows", () => {
  it("have choices one-hot and parts in the order of their names", () => {
    expect(flatSize(space)).toBe(13);
    const flat = row(13, (into) => writeFlat(space, value, into, 1));
    expect(flat).toEqual([1, 2, 3, 4, 0, 1, 1, 0, 0, 9, 0, 0, 1]);
  });
});

describe("actions as rows", () => {
  it("have a number for each choice, and come back", () => {
    expect(actionSize(space)).toBe(8);
    const flat = row(8, (into) => writeAction(space, value, into, 1));
    expect(flat).toEqual([1, 2, 3, 4, 1, 0, 9, 2]);
    expect(readAction(space, Float32Array.from([5, ...flat]), 1)).toEqual({
      a: Float32Array.of(1, 2, 3, 4),
      b: Int32Array.of(1, 0),
      c: { y: Float32Array.of(9), z: 2 },
    });
  });

  it("share nothing with what was read", () => {
    const from = Float32Array.of(1, 2);
    readAction(box({ shape: [2] }), from, 0)[0] = 9;
    expect(from[0]).toBe(1);
  });

  it("have masks over all choices", () => {
    expect(choices(discrete(4))).toBe(4);
    expect(choices(dict({ a: multiDiscrete([2, 3]), b: discrete(4) }))).toBe(9);
    expect(() => choices(box({ shape: [1] }))).toThrow(
      expect.objectContaining({ code: "SPACE_UNSUPPORTED" }),
    );
  });
});

describe("what does not fit a row", () => {
  it.each<[write: typeof writeFlat, space: Space, value: SpaceValue, why: RegExp]>([
    [writeFlat, box({ shape: [2] }), [1, 2, 3], /it has 3 numbers, where 2 are expected/],
    [writeFlat, box({ shape: [2] }), 1, /it is 1, where 2 numbers/],
    [writeFlat, box({ shape: [2, 1] }), [[1], [2]] as never, /a list of lists, where 2 flat numbers/],
    [writeFlat, discrete(2), 2, /it is 2, where a whole number from 0 to 1/],
    [writeFlat, multiDiscrete([2, 2]), [1, 5], /it is 5 at 1/],
    [writeFlat, multiDiscrete([2, 2]), [1], /it has 1 numbers/],
    [writeFlat, space, { a: [1, 2, 3, 4] }, /"b" is missing/],
    [writeAction, discrete(2), [1], /it is a list/],
    [writeAction, multiDiscrete([2, 2]), [1], /it has 1 numbers/],
  ])("is refused by %o", (write, space, value, why) => {
    const refused = (): number => write(space, value, new Float32Array(20), 0);
    expect(refused).toThrow(expect.objectContaining({ code: "SPACE_MISMATCH" }));
    expect(refused).toThrow(why);
  });
});
