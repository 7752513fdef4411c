import { describe, expect, it } from "vitest";
import { columns } from "./columns.ts";

describe("columns", () => {
  it("aligns the cells and leaves nothing behind the last", () => {
    expect(
      columns([
        ["engine", "kind"],
        ["xla", "cpu"],
        ["wasm", ""],
      ]),
    ).toEqual(["engine  kind", "xla     cpu", "wasm"]);
  });

  it("takes rows of different lengths", () => {
    expect(columns([["a"], ["bb", "c"], []])).toEqual(["a", "bb  c", ""]);
  });
});
