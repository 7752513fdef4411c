import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type TypeScriptRuntime, thisRuntime } from "../engine/index.ts";
import { testDirectory } from "./checkpoint/checkpoints.test-support.ts";
import type { Self } from "./run-again.ts";
import { programFor } from "./run-again.ts";

const { path } = testDirectory();
const installed: Self = ["node", "/project/node_modules/espalier/dist/cli/main.js"];
const node20: TypeScriptRuntime = { version: "20.1.0", stripsTypes: false, findTsx: () => undefined };
const file = (name: string) => {
  writeFileSync(path(name), "");
  return path(name);
};

describe("programFor", () => {
  it("calls itself as it was called for JavaScript", () => {
    expect(programFor(file("a.mjs"), installed, node20)).toEqual(installed);
  });

  it("calls itself as it was called where Node strips types, or tsx is loaded already", () => {
    expect(programFor(file("a.ts"), installed, { ...node20, stripsTypes: true })).toEqual(installed);
    const checkout: Self = ["node", "--import", "tsx", "src/cli/main.ts"];
    expect(programFor(file("a.ts"), checkout, node20)).toEqual(checkout);
    const cli: Self = ["node", "--import", "file:///x/node_modules/tsx/dist/loader.mjs", "src/cli/main.ts"];
    expect(programFor(file("a.ts"), cli, node20)).toEqual(cli);
  });

  it("loads the tsx that lies beside the file", () => {
    const runtime = { ...node20, findTsx: () => "file:///project/node_modules/tsx/loader.mjs" };
    expect(programFor(file("a.ts"), installed, runtime)).toEqual([
      "node",
      "--import",
      "file:///project/node_modules/tsx/loader.mjs",
      installed[1],
    ]);
  });

  it("does not take a folder's name for a loader", () => {
    const self: Self = ["node", "/work/tsx/node_modules/espalier/dist/cli/main.js"];
    expect(() => programFor(file("a.ts"), self, node20)).toThrow(/TYPESCRIPT_UNSUPPORTED/);
  });

  it("says what to do where there is nothing", () => {
    expect(() => programFor(file("a.mts"), installed, node20)).toThrow(
      /Node 20\.1\.0 cannot import .*TYPESCRIPT_UNSUPPORTED.*Node 22\.18 or newer.*tsx/s,
    );
  });

  it("says that there is no such file", () => {
    expect(() => programFor(path("none.ts"), installed, node20)).toThrow(/there is no file .*none\.ts/);
  });
});

describe("thisRuntime", () => {
  it("finds tsx from a file in the checkout, and not from elsewhere", () => {
    expect(thisRuntime().findTsx(import.meta.filename)).toMatch(/^file:.*tsx/);
    expect(thisRuntime().findTsx(path("a.ts"))).toBeUndefined();
  });
});
