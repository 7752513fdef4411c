import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { requirePlugin } from "../../engine/xla/plugin/require-plugin.test-support.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const plugin = requirePlugin();

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "espalier-command-"));
});
afterEach(() => rmSync(home, { recursive: true }));

/** Runs the command on a machine on which only what `env` says can be found. */
function espalier(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", main, ...args], {
    encoding: "utf8",
    env: { HOME: home, PATH: join(home, "bin"), NO_COLOR: "1", ...env },
  });
  return { status, stdout, stderr };
}

describe("espalier engine", () => {
  it("lists wasm where there is nothing else", () => {
    const { status, stdout } = espalier(["engine", "list", "--json"]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ entries: [{ engine: "wasm" }], auto: { engine: "wasm" } });
  });

  it.skipIf(!plugin)("lists the plugin that the environment names", () => {
    const { status, stdout } = espalier(["engine", "list"], { ESPALIER_XLA_PLUGIN: plugin?.path ?? "" });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^xla +cpu +\d+: .* PJRT API 0\.\d+ +ESPALIER_XLA_PLUGIN/m);
    expect(stdout).toContain("auto takes xla");
  });

  it("says what to do where there is no pip, and fails", () => {
    const { status, stderr } = espalier(["engine", "install"]);
    expect(status).toBe(1);
    expect(stderr).toContain("[PIP_MISSING]");
    expect(stderr).toContain("fix:");
  });

  it("refuses kinds it cannot install", () => {
    const { status, stderr } = espalier(["engine", "install", "gpu"]);
    expect(status).toBe(1);
    expect(stderr).toContain("Allowed choices are cpu, cuda");
  });

  it("checks wasm alone, and says that xla is missing", () => {
    const { status, stdout } = espalier(["engine", "check"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^wasm +1 +/m);
    expect(stdout).toContain("not checked: xla:");
  });

  it.each([
    ["asked for", ["--engine", "xla"], {}],
    ["required", [], { ESPALIER_REQUIRE: "xla" }],
  ])("fails a check in which xla is %s and missing", (_why, args, env) => {
    const { status, stdout, stderr } = espalier(["engine", "check", ...args], env);
    expect(status).toBe(1);
    expect(stdout).toContain("failed: xla:");
    expect(stderr).toContain("[ENGINE_CHECK_FAILED]");
  });
});
