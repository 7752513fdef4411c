import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { testDirectory } from "./checkpoint/checkpoints.test-support.ts";
import { ranElsewhere, ranFor } from "./run-again.ts";

const { path } = testDirectory();
const old = { version: "20.0.0", stripsTypes: false, findTsx: () => "data:text/javascript," };

describe("ranFor", () => {
  it("imports what this Node can import", async () => {
    writeFileSync(path("mine.mjs"), "globalThis.espalierTest = 7;");
    expect(await ranFor(path("mine.mjs"), ["node", "main.js"], [], old)).toBe(false);
    expect(await ranElsewhere(path("mine.mjs"))).toBe(false);
    expect((globalThis as { espalierTest?: number }).espalierTest).toBe(7);
  });

  it("runs the command again where it cannot, with a loader, and gives that one's exit code", async () => {
    writeFileSync(path("mine.ts"), "");
    writeFileSync(
      path("main.mjs"),
      `import { writeFileSync } from "node:fs";
       writeFileSync(${JSON.stringify(path("called.json"))}, JSON.stringify([process.execArgv, process.argv.slice(2)]));
       process.exitCode = 3;`,
    );
    const listeners = process.listenerCount("SIGINT");
    const args = ["replay", "a b.replay", "--module", path("mine.ts")];
    const before = process.exitCode;
    expect(await ranFor(path("mine.ts"), [process.execPath, path("main.mjs")], args, old)).toBe(true);
    expect(process.exitCode).toBe(3);
    process.exitCode = before;
    expect(JSON.parse(readFileSync(path("called.json"), "utf8"))).toEqual([
      ["--import", "data:text/javascript,"],
      args,
    ]);
    expect(process.listenerCount("SIGINT")).toBe(listeners);
  });

  it("says what is missing where there is no loader", async () => {
    writeFileSync(path("mine.ts"), "");
    const none = { ...old, findTsx: () => undefined };
    await expect(ranFor(path("mine.ts"), ["node", "main.js"], [], none)).rejects.toThrow(
      /TYPESCRIPT_UNSUPPORTED/,
    );
  });
});
