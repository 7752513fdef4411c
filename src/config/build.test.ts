import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { Builder } from "./build.ts";

const builderOf = (...tokens: readonly number[]): Builder => {
  const builder = new Builder(".", {});
  builder.parts.set("tokens", Int32Array.from(tokens));
  return builder;
};

describe("a value that is named", () => {
  it("takes methods, as a call does", async () => {
    const builder = builderOf(5, 6, 7, 8);
    const make = (text: string): Promise<unknown> => builder.make(parse(text), ["data"]);
    expect(await make("{ get: tokens, then: [{ subarray: [1, 3] }] }")).toEqual(Int32Array.of(6, 7));
    expect(await make("{ get: tokens, then: [{ subarray: 1 }, length] }")).toBe(3);
    expect(builder.problems).toEqual([]);
  });

  it("has the places of what is wrong with them", async () => {
    const builder = builderOf(5, 6);
    await builder.make(parse("{ get: tokens, then: [{ subaray: 1 }] }"), ["data"]);
    await builder.make(parse("{ get: tokens, then: [{ subarray: [{ get: nothing }] }] }"), ["other"]);
    expect(builder.problems).toMatchObject([
      { path: ["data", "then", 0], message: expect.stringContaining("subaray") },
      { path: ["other", "then", 0, "subarray", 0, "get"], message: expect.stringContaining("nothing") },
    ]);
  });
});
