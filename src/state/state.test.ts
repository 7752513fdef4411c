import { describe, expect, it } from "vitest";
import { put } from "../engine/index.ts";
import { firstDifference, sameState } from "./compare.ts";
import { hashState } from "./hash.ts";
import type { StateTree } from "./stateful.ts";

const tensor = (...numbers: number[]) => put(Float32Array.from(numbers), { engine: "wasm" });
const state = (): StateTree => ({
  params: [{ w: tensor(1, 2, 3) }],
  step: 7,
  name: "a",
  rest: { none: null, on: true },
});

describe("states", () => {
  it("are equal whatever the order of keys", async () => {
    expect(await sameState({ a: 1, b: [2] }, { b: [2], a: 1 })).toBe(true);
    expect(await hashState({ a: 1, b: [2] })).toBe(await hashState({ b: [2], a: 1 }));
    expect(await firstDifference(state(), state())).toBeUndefined();
    expect(await hashState(state())).toBe(await hashState(state()));
  });

  it("name the first number that differs, its place and index", async () => {
    const other = { ...(state() as object), params: [{ w: tensor(1, 2.5, 3) }] } as StateTree;
    const found = await firstDifference(state(), other);
    expect(found).toEqual({ path: "params[0].w", index: 1, text: "params[0].w[1]: 2 and 2.5" });
    expect(await hashState(other)).not.toBe(await hashState(state()));
  });

  it("name what is missing, of another type, or another value", async () => {
    expect((await firstDifference({ a: 1 }, { a: 1, b: 2 }))?.text).toBe(
      "b (number) is missing in the first",
    );
    expect((await firstDifference({ a: 1, b: 2 }, { a: 1 }))?.text).toBe(
      "b (number) is missing in the second",
    );
    expect((await firstDifference({ a: tensor(1) }, { a: tensor(1, 2) }))?.text).toBe("a: f32[1] and f32[2]");
    expect((await firstDifference({ a: "x" }, { a: "y" }))?.text).toBe('a: "x" and "y"');
    expect((await firstDifference([], {}))?.text).toBe("the state: empty array and empty object");
  });

  it("are compared by their bits: NaN equals NaN, 0 is not -0", async () => {
    expect(await sameState({ a: tensor(Number.NaN) }, { a: tensor(Number.NaN) })).toBe(true);
    expect((await firstDifference({ a: tensor(0) }, { a: tensor(-0) }))?.index).toBe(0);
    expect(await sameState({ a: 0 }, { a: -0 })).toBe(false);
    expect(await hashState({ a: 0 })).not.toBe(await hashState({ a: -0 }));
  });

  it("hold a tensor and its numbers in memory alike", async () => {
    expect(await sameState({ a: tensor(1, 2) }, { a: Float32Array.of(1, 2) })).toBe(true);
  });

  it("refuse functions, undefined, classes and cycles, naming the place", async () => {
    const bad = (value: unknown) => hashState({ parts: [{ fn: value as never }] });
    await expect(bad(() => 1)).rejects.toThrow(/parts\[0\]\.fn.*a function.*STATE_INVALID/s);
    await expect(bad(undefined)).rejects.toThrow(/parts\[0\]\.fn.*undefined/s);
    await expect(bad(new Map())).rejects.toThrow(/a Map/);
    await expect(bad(new Int8Array(2))).rejects.toThrow(/Int8Array/);
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    await expect(hashState(loop as StateTree)).rejects.toThrow(/contains itself/);
  });
});
