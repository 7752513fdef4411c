import { describe, expect, it } from "vitest";
import { box, choiceGroups, dict, discrete, multiDiscrete } from "../spaces/space.ts";
import { ownMemory, sizesOf } from "./memory.ts";
import { RowWriter } from "./row-writer.ts";

describe("action masks", () => {
  const actionSpace = dict({ b: discrete(2), a: multiDiscrete([2, 3]) });
  const observation = [0];
  const rows = (masked = true) => {
    const description = { observationSpace: box({ shape: 1 }), actionSpace, agents: 1, masked };
    const memory = ownMemory(sizesOf(description, 2));
    return { writer: new RowWriter(description, memory), masks: memory.actionMasks };
  };

  it("have the choices of all parts in the order of their names", () => {
    expect(choiceGroups(actionSpace)).toEqual([2, 3, 2]);
  });

  it("are written as ones and zeros, and as ones where there is none", () => {
    const { writer, masks } = rows();
    writer.observe(1, { observation, actionMask: Uint8Array.of(0, 5, 1, 0, 0, 1, 1) });
    expect([...masks]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1]);
    writer.observe(0, { observation });
    expect([...masks.subarray(0, 7)]).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });

  it("must allow something in every choice, unless the episode is over", () => {
    const { writer, masks } = rows();
    const step = {
      ...{ observation, reward: 0, terminated: false, truncated: false },
      actionMask: Uint8Array.of(1, 1, 0, 0, 0, 1, 1),
    };
    expect(writer.step(0, step)?.what).toBe("gave an action mask that allows nothing from 2 on");
    expect([...masks.subarray(0, 7)]).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(writer.step(0, { ...step, terminated: true })).toBeUndefined();
    expect([...masks.subarray(0, 7)]).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });

  it("are refused where none was expected", () => {
    const { writer } = rows(false);
    expect(writer.observe(0, { observation, actionMask: new Uint8Array(7) })?.what).toMatch(
      /none is expected/,
    );
    expect(writer.observe(0, { observation })).toBeUndefined();
  });
});
