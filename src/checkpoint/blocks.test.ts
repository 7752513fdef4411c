import { describe, expect, it } from "vitest";
import type { FileWriter } from "./index.ts";
import { blocksTo } from "./write-component.ts";

/** Lends blocks of 4 bytes, two at a time, and keeps what was written. */
function smallWriter(written: number[][]): FileWriter {
  const free = [new Uint8Array(4), new Uint8Array(4)];
  const waiting: ((block: Uint8Array) => void)[] = [];
  return {
    lend: () => {
      const block = free.pop();
      return block ? Promise.resolve(block) : new Promise((resolve) => waiting.push(resolve));
    },
    write: async (chunk) => {
      written.push([...chunk]);
      const block = new Uint8Array(chunk.buffer as ArrayBuffer);
      const next = waiting.shift();
      if (next) next(block);
      else free.push(block);
    },
    close: async () => ({ bytes: 0, sha256: "" }),
  };
}

const counting =
  (start: number) =>
  (target: Uint8Array, from: number): undefined => {
    for (let i = 0; i < target.length; i++) target[i] = start + from + i;
  };

describe("blocks of a file", () => {
  it("are cut from what is added, in order, however long each fill takes", async () => {
    const written: number[][] = [];
    const blocks = blocksTo(smallWriter(written));
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
    const blocks = blocksTo(smallWriter([]));
    const adding = blocks.add(40, () => Promise.reject(new Error("gone")));
    await expect(adding.then(() => blocks.flush())).rejects.toThrow("gone");
  });

  it("fail with what failed to be written", async () => {
    const writer: FileWriter = { ...smallWriter([]), write: () => Promise.reject(new Error("no space")) };
    const blocks = blocksTo(writer);
    const adding = blocks.add(40, counting(0));
    await expect(adding.then(() => blocks.flush())).rejects.toThrow("no space");
  });
});
