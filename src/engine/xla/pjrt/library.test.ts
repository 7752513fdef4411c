import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { PjrtClient } from "./client.ts";
import { loadGlobally } from "./library.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-library-"));
afterAll(() => rmSync(folder, { recursive: true }));

const failure = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message), fix: expect.any(String) });

describe("opening something that is no plugin", () => {
  it("names a path where there is nothing", () => {
    const path = join(folder, "none.so");
    expect(() => PjrtClient.open(path)).toThrow(failure("PLUGIN_NOT_FOUND", /none\.so/));
  });

  it("passes on what the loader says of a file that is no library", () => {
    const path = join(folder, "text.so");
    writeFileSync(path, "this is text");
    expect(() => PjrtClient.open(path)).toThrow(failure("PLUGIN_NOT_LOADABLE", /text\.so: .+/));
  });

  it("returns the loader's words for a library that others need", () => {
    expect(loadGlobally(join(folder, "absent.so"))).toMatch(/absent\.so/);
  });
});
