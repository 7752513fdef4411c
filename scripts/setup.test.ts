import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

type Packages = Readonly<Record<string, { version?: string; integrity?: string; optional?: boolean }>>;

const LOCKED: Packages = {
  "": { version: "0.1.0" },
  "node_modules/a": { version: "1.0.0", integrity: "sha512-a" },
  "node_modules/for-another-platform": { version: "1.0.0", integrity: "sha512-p", optional: true },
};
const { "node_modules/a": a } = LOCKED;

describe("setup", () => {
  let root: string;
  const lock = (packages: Packages) => JSON.stringify({ packages });

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "espalier-"));
    mkdirSync(join(root, "scripts"));
    mkdirSync(join(root, "node_modules"));
    copyFileSync(fileURLToPath(new URL("setup.mjs", import.meta.url)), join(root, "scripts/setup.mjs"));
    writeFileSync(join(root, "package-lock.json"), lock(LOCKED));
  });

  afterEach(() => rmSync(root, { recursive: true }));

  /** Runs the set-up with a stand-in for npm that notes how it was called. */
  function setUp(installed: Packages | undefined, npmFails = false) {
    if (installed) writeFileSync(join(root, "node_modules/.package-lock.json"), lock(installed));
    const npm = join(root, "npm-cli.cjs");
    const calls = join(root, "calls");
    const note = `require("fs").writeFileSync(${JSON.stringify(calls)}, process.argv.slice(2).join(" "))`;
    writeFileSync(npm, `${note}; console.log("added 1 package"); process.exit(${npmFails ? 1 : 0})`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "scripts/setup.mjs")], {
      env: { ...process.env, npm_execpath: npm },
      encoding: "utf8",
    });
    return { status, stdout, stderr, call: existsSync(calls) ? readFileSync(calls, "utf8") : undefined };
  }

  it("does and says nothing when everything is there", () => {
    expect(setUp({ "node_modules/a": { ...a } })).toEqual({
      status: 0,
      stdout: "",
      stderr: "",
      call: undefined,
    });
  });

  it.each([
    ["nothing is installed", undefined, "node_modules is missing"],
    ["a package is missing", {}, "node_modules/a is missing"],
    ["a version differs", { "node_modules/a": { ...a, version: "0.9.0" } }, "is 0.9.0, 1.0.0 is wanted"],
    ["a checksum differs", { "node_modules/a": { ...a, integrity: "sha512-x" } }, "node_modules/a"],
  ])("installs when %s, and says why in one line", (_when, installed, why) => {
    const { status, stdout, stderr, call } = setUp(installed);
    expect(status).toBe(0);
    expect(call).toMatch(/^ci .*--include=dev/);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^setup: .*; running npm ci\n$/);
    expect(stderr).toContain(why);
  });

  it("fails when the install fails", () => {
    const { status, stderr } = setUp(undefined, true);
    expect(status).toBe(1);
    expect(stderr).toContain("npm ci failed");
  });
});
