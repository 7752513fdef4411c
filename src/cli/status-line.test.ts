import { describe, expect, it } from "vitest";
import { statusLine } from "./terminal.ts";

describe("statusLine", () => {
  it("writes a line each where there is no terminal", () => {
    const written: string[] = [];
    const status = statusLine({ write: (text) => written.push(text) });
    status.say("Downloading");
    status.say("Unpacking");
    status.end();
    expect(written).toEqual(["Downloading\n", "Unpacking\n"]);
  });

  it("writes over one line on a terminal, counts the seconds and leaves nothing behind", () => {
    const written: string[] = [];
    let now = 0;
    const status = statusLine({ isTTY: true, columns: 21, write: (text) => written.push(text) }, () => now);
    now = 3000;
    status.say("  Downloading a file of some size");
    status.end();
    expect(written).toEqual(["\r\x1b[2K| 3 s  Downloading a", "\r\x1b[2K"]);
  });
});
