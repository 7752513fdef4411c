import { describe, expect, it } from "vitest";
import { box, dict, discrete, multiDiscrete, type Space } from "../spaces/space.ts";
import { actionReader, checkActions } from "./actions.ts";

describe("actions of a vector", () => {
  it("are lists where there are several agents", () => {
    const read = actionReader(multiDiscrete([2, 2]), 2);
    const rows = Float32Array.of(9, 9, 9, 9, 0, 1, 1, 0);
    expect(read(rows, 1)).toEqual([Int32Array.of(0, 1), Int32Array.of(1, 0)]);
    expect(actionReader(discrete(3), 1)(Float32Array.of(0, 2), 1)).toBe(2);
  });

  it.each<[Space, number[], string]>([
    [discrete(2), [2], "2, where a whole number from 0 to 1 is expected"],
    [discrete(2), [0.5], "0.5, where"],
    [multiDiscrete([2, 3]), [1, 3], "3, where a whole number from 0 to 2"],
    [box({ shape: [2] }), [0, Number.POSITIVE_INFINITY], "Infinity at 1"],
    [
      dict({ a: box({ shape: [1] }), b: discrete(2) }),
      [0, -1],
      '-1, where a whole number from 0 to 1 is expected in "b"',
    ],
  ])("of %o cannot be %o", (space, action, why) => {
    const actions = Float32Array.from([...action.map(() => 0), ...action]);
    const check = (ignored: (row: number) => boolean) => () =>
      checkActions(space, action.length, actions, 2, ignored);
    expect(check(() => false)).toThrow(`the action of row 1 is ${why}`);
    expect(check((row) => row === 1)).not.toThrow();
  });
});
