import { describe, expect, it } from "vitest";
import { hashState } from "./hash.ts";
import type { StateTree } from "./stateful.ts";
import { flattenState, walkState } from "./walk.ts";

const paths = (state: StateTree): string[] => {
  const found: string[] = [];
  walkState(state, (path) => found.push(path));
  return found;
};

describe("paths of a state", () => {
  it("are unique, whatever the keys", () => {
    const state = { "a.b": 1, a: { b: 2 }, "a[0]": 3, "": 4, 'q"': 5, list: [6], 0: 7, "[0]": 8 };
    const found = paths(state);
    expect(new Set(found).size).toBe(8);
    expect(found).toContain('["a.b"]');
    expect(found).toContain("a.b");
  });

  it("tell states apart that differ only in where a dot stands", async () => {
    expect(await hashState({ "a.b": 1 })).not.toBe(await hashState({ a: { b: 1 } }));
  });

  it("keep plain keys as they are", async () => {
    expect((await flattenState({ layers: [{ w: 1, "läge 2": 2 }] })).map(({ path }) => path)).toEqual([
      "layers[0].läge 2",
      "layers[0].w",
    ]);
  });
});

describe("what a state cannot hold", () => {
  it.each([
    ["a hole in an array", Object.assign([1], { length: 2 }), /\[1\].*undefined/s],
    ["a symbol's entry", { a: { [Symbol("s")]: 1 } }, /"a" holds an entry named by a symbol/],
    ["a big integer", { n: 1n }, /"n" holds a bigint/],
    ["a Buffer", { b: Buffer.from("x") }, /"b" holds a Buffer/],
    ["a date", { at: new Date(0) }, /"at" holds a Date/],
    ["a promise", { p: Promise.resolve(1) }, /"p" holds a Promise/],
  ])("is named with its place: %s", (_name, state, message) => {
    expect(() => paths(state as never)).toThrow(message);
  });

  it("includes itself, but the same object twice is fine", () => {
    const part = { n: 1 };
    expect(paths({ a: part, b: [part] })).toEqual(["a.n", "b[0].n"]);
    const loop: unknown[] = [];
    loop.push({ loop });
    expect(() => paths(loop as never)).toThrow(/\[0\]\.loop.*contains itself/s);
  });
});
