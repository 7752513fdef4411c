import { describe, expect, it } from "vitest";
import { hasUnicode, isLive, wantsColor } from "./console-sink.ts";
import { styleOf } from "./rows.ts";

describe("colours", () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: "1" }, false],
    [true, { NO_COLOR: "0" }, false],
    [true, { NO_COLOR: "" }, true],
    [false, { FORCE_COLOR: "1" }, true],
    [false, { FORCE_COLOR: "" }, false],
    [true, { FORCE_COLOR: "0" }, false],
    [true, { FORCE_COLOR: "false" }, false],
    [true, { NO_COLOR: "1", FORCE_COLOR: "1" }, false],
  ])("terminal %s with %j: %s", (terminal, env, expected) => {
    expect(wantsColor(terminal, env)).toBe(expected);
  });

  it("are left out of spaces", () => {
    const { paint } = styleOf({ color: true, unicode: true });
    expect(paint({ text: "  ", paint: "red" })).toBe("  ");
    expect(paint({ text: "x", paint: "red" })).toBe("\x1b[31mx\x1b[39m");
  });
});

describe("terminals", () => {
  it.each([
    [{ TERM: "xterm" }, "linux", true],
    [{ TERM: "linux" }, "linux", false],
    [{}, "win32", false],
    [{ WT_SESSION: "1" }, "win32", true],
  ])("with %j on %s have arrows: %s", (env, platform, expected) => {
    expect(hasUnicode(env, platform)).toBe(expected);
  });

  it("that cannot move their cursor are written to as to a file", () => {
    expect(isLive({ isTTY: true }, { TERM: "xterm" })).toBe(true);
    expect(isLive({ isTTY: true }, { TERM: "dumb" })).toBe(false);
    expect(isLive({}, { TERM: "xterm" })).toBe(false);
  });
});
