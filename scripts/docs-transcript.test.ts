import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { wholeProgram } from "../src/cli/commands.test-support.ts";
import { root } from "./compiler-options.ts";
import { normalized, onScreen, page, steps } from "./docs-transcript.ts";

const text = readFileSync(`${root}docs/transcript.md`, "utf8");

describe("docs/transcript.md", () => {
  it("shows the commands of its script, in their order", () => {
    const shown = [...text.matchAll(/^\$ (.*)$/gm)].map(([, line]) => line);
    expect(shown).toEqual(steps.map(({ command }) => command.split("\n")[0]));
    // The page of nothing printed has all that is not printed.
    for (const line of page([]).split("\n")) expect(text.split("\n")).toContain(line);
  });

  it("names commands and options that there are", async () => {
    const program = await wholeProgram();
    const calls = [...text.matchAll(/^\$ npx espalier (.*)$/gm)].map(([, call = ""]) => call.split(" "));
    expect(calls.length).toBeGreaterThan(8);
    for (const [name, ...words] of calls) {
      const command = program.commands.find((one) => one.name() === name);
      expect(command, `espalier ${name}`).toBeDefined();
      const known = command?.options.flatMap(({ long, short }) => [long, short]);
      for (const word of words.filter((one) => one.startsWith("-"))) expect(known).toContain(word);
    }
  });

  it("holds nothing of the machine that made it", () => {
    expect(text).not.toMatch(/\/tmp\/|\/root\/|\/home\/|espalier-transcript/);
    expect(new Set(text.match(/-\d{8}-\d{6}-[0-9a-f]{6}/g))).toEqual(new Set(["-20260131-120000-a1b2c3"]));
  });
});

describe("the transcript's terminal", () => {
  it("shows what stands there in the end", () => {
    expect(onScreen("a\r\nbcd\rx\r\n")).toBe("a\nxcd\n");
    expect(onScreen("one\ntwo\n\u001b[1A\u001b[2K\rTWO\n")).toBe("one\nTWO\n");
    expect(onScreen("bar 1\rbar 2\r\u001b[Jdone")).toBe("done");
  });

  it("makes paths, ids and times the same, and keeps columns", () => {
    expect(normalized("/x/runs/a-20261118-120515-6348f0 in 9.25 s", "/x")).toBe(
      "~/runs/a-20260131-120000-a1b2c3 in 1.0 s",
    );
    expect(normalized("a  12.345 ms  b", "/x")).toBe("a  1.0 ms     b");
  });
});
