import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Plugin } from "../../engine/index.ts";
import { requirePlugin } from "../../engine/xla/plugin/require-plugin.test-support.ts";
import type { Self } from "../run-again.ts";
import { probePlugin } from "./list.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const self: Self = [process.execPath, "--import", "tsx", main];
/** A program that stands for ours with a plugin in it. */
const program = (script: string): Self => [process.execPath, "-e", script];

const made: Plugin = { kind: "cpu", path: "made-up.so", source: "environment" };
const real = requirePlugin();

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "espalier-probe-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("probePlugin", () => {
  it.skipIf(!real)("starts the plugin of this machine", async () => {
    const probe = await probePlugin(real as Plugin, self);
    expect(probe).toMatchObject({ state: "starts", description: expect.stringMatching(/PJRT API 0\.\d+/) });
    expect(probe.state === "starts" && probe.devices.length).toBeGreaterThan(0);
  });

  it("gives the reason and the fix where the file is no library", async () => {
    const path = join(folder, "broken.so");
    writeFileSync(path, "not a library");
    const probe = await probePlugin({ ...made, path }, self);
    expect(probe).toMatchObject({
      state: "declines",
      reason: expect.stringContaining("[PLUGIN_NOT_LOADABLE]"),
      fix: expect.any(String),
    });
    expect(probe.state === "declines" && probe.reason).not.toContain("fix:");
  });

  it("survives a plugin that aborts its process, and passes on its last words", async () => {
    const aborting = program("console.error('Unknown flag'); process.kill(process.pid, 'SIGABRT')");
    expect(await probePlugin(made, aborting)).toEqual({
      state: "crashes",
      reason: "starting it ended the process (SIGABRT): Unknown flag",
    });
  });

  it("survives a plugin that exits", async () => {
    const exiting = program("process.send({}, () => process.exit(7))");
    expect(await probePlugin(made, exiting)).toMatchObject({
      state: "crashes",
      reason: expect.stringContaining("exit code 7"),
    });
  });

  it("does not wait for ever", async () => {
    const hanging = program("setInterval(() => {}, 1000)");
    expect(await probePlugin(made, hanging, 300)).toMatchObject({
      state: "crashes",
      reason: "it did not start within 0.3 s",
    });
  });

  it("hears the answer where a plugin prints too", async () => {
    const chatty = program(
      `console.log("hello"); process.send({"state":"starts","description":"d","devices":[]}); process.disconnect()`,
    );
    expect(await probePlugin(made, chatty)).toEqual({ state: "starts", description: "d", devices: [] });
  });
});
