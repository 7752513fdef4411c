import * as fs from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { environmentVariable, node } from "./node.ts";

afterEach(() => vi.unstubAllGlobals());

describe("node", () => {
  it("has Node's modules", () => {
    expect(node.fs.existsSync).toBe(fs.existsSync);
    expect(node.path.join("a", "b")).toMatch(/^a.b$/);
    for (const name of Object.getOwnPropertyNames(node)) expect(Reflect.get(node, name), name).toBeTruthy();
  });

  it.each([
    ["no process", undefined],
    ["a process without modules", { env: {} }],
  ])("says what it needs where there is %s", (_, process) => {
    vi.stubGlobal("process", process);
    expect(() => node.fs).toThrow(expect.objectContaining({ code: "NODE_MISSING" }));
    expect(() => node.fs).toThrow(/node:fs/);
    expect(environmentVariable("PATH")).toBeUndefined();
  });
});
