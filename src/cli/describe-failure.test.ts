import { writeFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { EspalierError } from "../core/index.ts";
import { describeFailure } from "./program.ts";

const plain = (error: unknown, debug = false) => stripVTControlCharacters(describeFailure(error, debug));

describe("describeFailure", () => {
  const error = new EspalierError("NO_PIP", "pip was not found", {
    fix: "install Python 3 with pip",
    cause: new Error("spawn failed"),
  });

  it("gives a foreseen failure's message and fix, and no stack", () => {
    expect(plain(error)).toBe("error: pip was not found [NO_PIP]\n  fix: install Python 3 with pip");
  });

  it("gives the stack and the cause with --debug", () => {
    expect(plain(error, true)).toContain("describe-failure.test.ts");
    expect(plain(error, true)).toContain("spawn failed");
  });

  it("gives a code and a fix where a path cannot be written", () => {
    const found = (() => {
      try {
        return writeFileSync(import.meta.dirname, "");
      } catch (cause) {
        return cause;
      }
    })();
    expect(plain(found)).toMatch(/EISDIR.*src\/cli.*\[FILE_FAILED\]\n {2}fix: /);
  });

  it("says how to see more of an unforeseen one", () => {
    expect(plain(new TypeError("x is not a function"))).toMatch(/^error: x is not a function\n.*--debug/);
    expect(plain("just text")).toMatch(/^error: just text\n/);
  });
});
