import { describe, expect, it } from "vitest";
import { choiceGroups, dict, discrete, multiDiscrete } from "../spaces/space.ts";
import { MaskRows } from "./row-writer.ts";

describe("action masks", () => {
  const space = dict({ b: discrete(2), a: multiDiscrete([2, 3]) });
  const masks = new MaskRows(space, 1);

  it("have the choices of all parts in the order of their names", () => {
    expect(choiceGroups(space)).toEqual([2, 3, 2]);
  });

  it("are written as ones and zeros, and as ones where there is none", () => {
    const into = new Uint8Array(14);
    masks.write(Uint8Array.of(0, 5, 1, 0, 0, 1, 1), into, 1);
    expect([...into]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1]);
    masks.write(undefined, into, 0);
    expect([...into.subarray(0, 7)]).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });

  it("must allow something in every choice, unless the episode is over", () => {
    const mask = Uint8Array.of(1, 1, 0, 0, 0, 1, 1);
    expect(masks.fault(mask, true, false)?.what).toBe("gave an action mask that allows nothing from 2 on");
    expect(masks.fault(mask, true, true)).toBeUndefined();
    const into = new Uint8Array(7);
    masks.write(mask, into, 0);
    expect([...into]).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });

  it("are refused where none was expected", () => {
    expect(masks.fault(new Uint8Array(7), false, false)?.what).toMatch(/none is expected/);
    expect(masks.fault(undefined, false, false)).toBeUndefined();
  });
});
