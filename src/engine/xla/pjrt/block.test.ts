import { describe, expect, it } from "vitest";
import { Block } from "./block.ts";
import { native } from "./library.ts";

describe("Block", () => {
  it("keeps pointers of any size below 2^53", () => {
    const block = new Block(16);
    for (const value of [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 0x7fff_dead_beef, 2 ** 53 - 1]) {
      block.setPointer(8, value);
      expect(block.pointer(8)).toBe(value);
    }
    expect(block.pointer(0)).toBe(0);
  });

  it("lies where native code finds what was written", () => {
    const block = new Block(24);
    block.setPointer(0, 0x1234_5678_9abc);
    block.setInt32(8, -2);
    const bytes = Buffer.from(native().bytesAt(block.address, 24));
    expect(bytes.readBigUInt64LE(0)).toBe(0x1234_5678_9abcn);
    expect(bytes.readInt32LE(8)).toBe(-2);
    expect(block.int32(8)).toBe(-2);
  });

  it("points to other blocks", () => {
    const block = new Block(8);
    block.pointTo(0, Block.bytes(Buffer.from("mlir")));
    expect(Buffer.from(native().bytesAt(block.pointer(0), 4)).toString()).toBe("mlir");
  });

  it("stays at its address while other memory comes and goes", () => {
    const blocks = Array.from({ length: 100 }, (_, i) => Block.bytes(Uint8Array.of(i)));
    for (let i = 0; i < 200; i++) new Array(10_000).fill(i);
    blocks.forEach((block, i) => {
      block.setPointer(0, i + 1000);
      expect(native().pointersAt(block.address, 1)).toEqual([i + 1000]);
    });
  });

  it("has room for structs that newer plugins made larger", () => {
    expect(Block.struct().pointer(0)).toBeGreaterThanOrEqual(256);
  });
});
