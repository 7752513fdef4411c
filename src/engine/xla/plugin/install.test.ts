import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Surroundings } from "./find.ts";
import { installPlugin, verifyPlugin } from "./install.ts";
import { makeZip } from "./zip-writer.ts";

let root: string;
let machine: Surroundings;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "espalier-install-"));
  mkdirSync(join(root, "bin"));
  machine = { env: { PATH: join(root, "bin"), ESPALIER_CACHE: join(root, "cache") }, home: root };
});
afterEach(() => rmSync(root, { recursive: true }));

const plugins = () => join(root, "cache", "plugins");

/** A program on this machine's PATH that stands for pip. */
const program = (name: string, body: string) => {
  const path = join(root, "bin", name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
};

const library = Buffer.concat([Buffer.from("\x7fELF"), Buffer.alloc(100, 1)]);
const member = "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so";

/** A pip3 that answers `--version` and copies a wheel with `content` to the folder after `-d`. */
const pipWith = (content: Uint8Array, promised: Uint8Array = content) => {
  const hash = createHash("sha256").update(promised).digest("base64url");
  const record = Buffer.from(`${member},sha256=${hash},${promised.length}\n`);
  const wheel = join(root, "wheel.zip");
  writeFileSync(
    wheel,
    makeZip([
      { name: member, content, deflate: true },
      { name: "xla_cpu_pjrt-0.0.1.dist-info/RECORD", content: record },
    ]),
  );
  program(
    "pip3",
    `[ "$1" = --version ] && exit 0
     while [ "$1" != -d ]; do shift; done
     echo "Collecting $3"
     /bin/cp '${wheel}' "$2/xla_cpu_pjrt-0.0.1-py3-none-any.whl"`,
  );
};

describe("installPlugin", () => {
  it("downloads with pip, checks, keeps and finds the plugin again", async () => {
    pipWith(library);
    const lines: string[] = [];
    const plugin = await installPlugin("cpu", { onProgress: (line) => lines.push(line) }, machine);
    expect(plugin).toMatchObject({ kind: "cpu", source: "cache" });
    expect(readFileSync(plugin.path)).toEqual(library);
    expect(lines).toContain("Collecting xla-cpu-pjrt==0.0.1");
    expect(readdirSync(plugins())).toEqual(["xla-cpu-pjrt-0.0.1"]);
    expect(JSON.parse(readFileSync(join(dirname(plugin.path), "plugin.json"), "utf8"))).toEqual({
      kind: "cpu",
      file: "xla_cpu_pjrt.so",
      package: "xla-cpu-pjrt",
      version: "0.0.1",
      bytes: library.length,
      sha256: createHash("sha256").update(library).digest("hex"),
    });
  });

  it("does nothing where the plugin is there, unless forced", async () => {
    pipWith(library);
    await installPlugin("cpu", {}, machine);
    program("pip3", "exit 1");
    await installPlugin("cpu", {}, machine);
    await expect(installPlugin("cpu", { force: true }, machine)).rejects.toMatchObject({
      code: "PIP_MISSING",
    });
    pipWith(Buffer.concat([library, library]));
    const plugin = await installPlugin("cpu", { force: true }, machine);
    expect(readFileSync(plugin.path)).toHaveLength(2 * library.length);
  });

  it("tries the next pip where a python3 comes without one", async () => {
    program("python3", "exit 1");
    pipWith(library);
    expect((await installPlugin("cpu", {}, machine)).kind).toBe("cpu");
  });

  it("says what to do where there is no pip", async () => {
    await expect(installPlugin("cpu", {}, machine)).rejects.toMatchObject({
      code: "PIP_MISSING",
      fix: expect.stringContaining("ESPALIER_XLA_PLUGIN"),
    });
  });

  it("passes on pip's last lines when it fails", async () => {
    program("pip3", '[ "$1" = --version ] && exit 0\necho "ERROR: no network" >&2\nexit 1');
    await expect(installPlugin("cpu", {}, machine)).rejects.toMatchObject({
      code: "PIP_FAILED",
      message: expect.stringContaining("ERROR: no network"),
    });
  });

  it("leaves nothing behind of a wheel that is not what it promises", async () => {
    pipWith(library, Buffer.from("something else"));
    await expect(installPlugin("cpu", {}, machine)).rejects.toMatchObject({ code: "WHEEL_INVALID" });
    expect(readdirSync(plugins())).toEqual([]);
  });

  it("stops when it is told to", async () => {
    pipWith(library);
    await expect(installPlugin("cpu", { signal: AbortSignal.abort() }, machine)).rejects.toThrow(/abort/i);
    expect(readdirSync(plugins())).toEqual([]);
  });
});

describe("verifyPlugin", () => {
  it("notices a plugin that has changed since it was installed", async () => {
    pipWith(library);
    const plugin = await installPlugin("cpu", {}, machine);
    expect(await verifyPlugin(plugin)).toMatchObject({ matches: true });
    writeFileSync(plugin.path, "changed");
    expect(await verifyPlugin(plugin)).toMatchObject({ matches: false });
  });

  it("has nothing to compare a plugin with that it did not install", async () => {
    const path = join(root, "own.so");
    writeFileSync(path, library);
    const sha256 = createHash("sha256").update(library).digest("hex");
    expect(await verifyPlugin({ kind: "cpu", path, source: "option" })).toEqual({ sha256 });
  });
});
