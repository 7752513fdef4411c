import { describe, expect, it } from "vitest";
import type { FileWriter } from "./index.ts";
import { blocksTo } from "./write-component.ts";

const small = { bytes: 4, most: 2 };

/** Keeps what was written. */
const writerTo = (written: number[][]): FileWriter => ({
  write: async (chunk) => void written.push([...chunk]),
  close: async () => ({ bytes: 0, sha256: "" }),
});

const counting =
  (start: number) =>
  (target: Uint8Array, from: number): undefined => {
    for (let i = 0; i < target.length; i++) target[i] = start + from + i;
  };

describe("blocks of a file", () => {
  it("are cut from what is added, in order, however long each fill takes", async () => {
    const written: number[][] = [];
    const blocks = blocksTo(writerTo(written), small);
    let finish: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await blocks.add(3, (target, from) => slow.then(() => counting(0)(target, from)));
    const rest = blocks.add(8, counting(3)).then(() => blocks.flush());
    expect(written).toEqual([]);
    finish();
    await rest;
    expect(written).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9, 10],
    ]);
  });

  it("fail with what failed to be filled, even when no memory is left to wait for", async () => {
    const blocks = blocksTo(writerTo([]), small);
    const adding = blocks.add(40, () => Promise.reject(new Error("gone")));
    await expect(adding.then(() => blocks.flush())).rejects.toThrow("gone");
  });

  it("fail with what failed to be written", async () => {
    const writer: FileWriter = { ...writerTo([]), write: () => Promise.reject(new Error("no space")) };
    const blocks = blocksTo(writer, small);
    const adding = blocks.add(40, counting(0));
    await expect(adding.then(() => blocks.flush())).rejects.toThrow("no space");
  });

  it("wait for the writer when as many as may are on their way", async () => {
    const taken: (() => void)[] = [];
    const written: number[][] = [];
    const writer: FileWriter = {
      ...writerTo(written),
      write: (chunk) => {
        written.push([...chunk]);
        return new Promise((resolve) => taken.push(resolve));
      },
    };
    const blocks = blocksTo(writer, small);
    let filled = 0;
    const adding = blocks.add(40, (target) => {
      filled += target.length;
      return undefined;
    });
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    await turn();
    expect([filled, written.length]).toEqual([8, 1]);
    for (let i = 0; i < 10; i++) {
      taken.shift()?.();
      await turn();
    }
    await adding;
    await blocks.flush();
    expect([filled, written.length]).toEqual([40, 10]);
  });
});
