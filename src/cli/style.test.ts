import { describe, expect, it } from "vitest";
import { knowsUnicode, styleFor } from "./terminal.ts";

const terminal = { isTTY: true, columns: 120 };
const pipe = { isTTY: false, columns: undefined };
const red = (out: typeof terminal | typeof pipe, env: Record<string, string>) =>
  styleFor(out, env, false).colors.red("x");

describe("colours", () => {
  it("are for terminals alone, unless they are not wanted", () => {
    expect(red(terminal, {})).toBe("\u001b[31mx\u001b[39m");
    expect(red(terminal, { NO_COLOR: "1" })).toBe("x");
    expect(red(terminal, { TERM: "dumb" })).toBe("x");
    expect(red(pipe, { CI: "1", FORCE_COLOR: "1" })).toBe("x");
  });
});

describe("blocks", () => {
  it.each([
    [{ LANG: "en_US.UTF-8" }, "linux", true],
    [{ LANG: "C.utf8" }, "linux", true],
    [{ LANG: "en_US.UTF-8", LC_ALL: "C" }, "linux", false],
    [{ LC_CTYPE: "de_DE.ISO-8859-1", LANG: "en_US.UTF-8" }, "linux", false],
    [{}, "linux", true],
    [{ TERM: "linux" }, "linux", false],
    [{}, "win32", false],
    [{ WT_SESSION: "1" }, "win32", true],
  ] as const)("are drawn by what %j on %s knows: %s", (env, platform, known) => {
    expect(knowsUnicode(env, platform)).toBe(known);
  });

  it("are not drawn where letters are asked for", () => {
    expect(styleFor(pipe, { LANG: "C.UTF-8" }, true).ascii).toBe(true);
    expect(styleFor(pipe, { LANG: "C.UTF-8" }, false)).toMatchObject({ ascii: false, width: 100 });
  });
});
