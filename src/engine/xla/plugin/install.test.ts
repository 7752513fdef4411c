import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Surroundings } from "./find.ts";
import { installPlugin, verifyPlugin } from "./install.ts";

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
const script = Buffer.from("#!/bin/sh");
const member = "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so";

/** A pip3 that answers `--version` and unpacks a package with `content` into the folder after `--target`. */
const pipWith = (content: Uint8Array, promised: Uint8Array = content, name = member) => {
  const hash = createHash("sha256").update(promised).digest("base64url");
  const folder = join(root, "package");
  mkdirSync(join(folder, dirname(name)), { recursive: true });
  mkdirSync(join(folder, "xla_cpu_pjrt-0.0.1.dist-info"), { recursive: true });
  writeFileSync(join(folder, name), content);
  writeFileSync(
    join(folder, "xla_cpu_pjrt-0.0.1.dist-info", "RECORD"),
    `"a,b.py",sha256=AAEC,3\r\n${name},sha256=${hash},${promised.length}\r\nRECORD,,\r\n`,
  );
  program(
    "pip3",
    `[ "$1" = --version ] && exit 0
     while [ "$1" != --target ]; do shift; done
     echo "Collecting $3"
     /bin/cp -r '${folder}' "$2"`,
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

  it.each([
    {
      wrong: "is not what its wheel promises",
      content: library,
      promised: Buffer.from("other"),
      message: /promises/,
    },
    { wrong: "is no library", content: script, promised: script, message: /not a shared library/ },
  ])("leaves nothing behind of a file that $wrong", async ({ content, promised, message }) => {
    pipWith(content, promised);
    const failure = { code: "WHEEL_INVALID", message: expect.stringMatching(message) };
    await expect(installPlugin("cpu", {}, machine)).rejects.toMatchObject(failure);
    expect(readdirSync(plugins())).toEqual([]);
  });

  it("names what a package has not got", async () => {
    pipWith(library, library, "other.so");
    await expect(installPlugin("cpu", {}, machine)).rejects.toMatchObject({
      code: "WHEEL_INVALID",
      message: expect.stringContaining(member),
    });
    pipWith(library);
    writeFileSync(join(root, "package", "xla_cpu_pjrt-0.0.1.dist-info", "RECORD"), "RECORD,,\n");
    await expect(installPlugin("cpu", {}, machine)).rejects.toMatchObject({
      code: "WHEEL_INVALID",
      message: expect.stringContaining("RECORD"),
    });
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
