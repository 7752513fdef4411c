import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Plugin } from "../../engine/index.ts";
import { type InstallableKind, installAndTry } from "./install.ts";
import type { Probe } from "./list.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "espalier-install-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const starts: Probe = { state: "starts", description: "cpu, PJRT API 0.81", devices: ["Cpu 0", "Cpu 1"] };
const declines: Probe = { state: "declines", reason: "no GPU [PLUGIN_FAILED]", fix: "plug one in" };

interface Case {
  readonly kind?: InstallableKind;
  readonly probe?: Probe;
  readonly altered?: boolean;
}

/** Runs the command's work on a plugin that an installer without network put down. */
async function install({ kind = "cpu", probe = starts, altered = false }: Case) {
  const plugin: Plugin = { kind, path: join(folder, "plugin.so"), source: "cache" };
  writeFileSync(plugin.path, altered ? "other" : "library");
  const sha256 = createHash("sha256").update("library").digest("hex");
  writeFileSync(join(folder, "plugin.json"), JSON.stringify({ kind, file: "plugin.so", bytes: 7, sha256 }));
  const progress: string[] = [];
  const asked: unknown[] = [];
  const text = await installAndTry(
    kind,
    true,
    {
      install: async (wanted, options) => {
        asked.push([wanted, options.force]);
        options.onProgress?.("Collecting");
        return plugin;
      },
      probe: async () => probe,
      call: "npx espalier",
    },
    (line) => progress.push(line),
  );
  return { text, progress, asked, plugin };
}

describe("installAndTry", () => {
  it("installs, checks, starts, and says where it is and what is next", async () => {
    const { text, progress, asked, plugin } = await install({});
    expect(asked).toEqual([["cpu", true]]);
    expect(progress).toEqual(["Collecting", `Checking ${plugin.path}`, "Starting it"]);
    expect(text.split("\n")).toEqual([
      `installed the cpu plugin: ${plugin.path}`,
      "it starts: cpu, PJRT API 0.81, devices: Cpu 0, Cpu 1",
      "next: npx espalier engine check",
    ]);
  });

  it("refuses a plugin that is not what was installed", async () => {
    await expect(install({ altered: true })).rejects.toMatchObject({
      code: "PLUGIN_ALTERED",
      fix: "npx espalier engine install cpu --force",
    });
  });

  it("fails where the CPU's plugin does not start", async () => {
    await expect(install({ probe: declines })).rejects.toMatchObject({
      code: "PLUGIN_FAILED",
      message: expect.stringContaining("no GPU"),
      fix: "plug one in",
    });
  });

  it("tells, without failing, that a GPU's plugin does not start here", async () => {
    const { text } = await install({ kind: "cuda", probe: declines });
    expect(text).toContain("it does not start on this machine: no GPU [PLUGIN_FAILED]\n  fix: plug one in");
    expect(text).toContain("NVIDIA GPU");
  });
});
