import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openStatsStore } from "../metrics/index.ts";
import { testDirectory } from "./checkpoint/checkpoints.test-support.ts";
import { examine, type Patient } from "./doctor.ts";
import { thisProgram } from "./run-again.ts";

const { path } = testDirectory();

/** What is found of one thing. No plugin is started: the cache and the PATH are empty. */
async function found(name: string, patient: Partial<Patient> = {}) {
  const findings = await examine({
    ...{ node: "22.1.0", engines: ">=20.16", env: { ESPALIER_ENGINE: "wasm" }, runs: path("runs") },
    ...{ self: thisProgram(), free: () => 1e12, plugins: () => [], ...patient },
  });
  return findings.find((finding) => finding.name === name);
}

describe("espalier doctor", () => {
  it.each([
    ["20.16.0", "ok"],
    ["24.0.1", "ok"],
    ["20.15.9", "problem"],
    ["18.20.0", "problem"],
  ])("compares Node %s with what the package needs", async (node, state) => {
    expect(await found("Node", { node })).toMatchObject({ state });
  });

  it("says how much room there is, and what to do where it is little", async () => {
    expect(await found("disk")).toMatchObject({ state: "ok" });
    expect(await found("disk", { free: () => 2 ** 30 })).toMatchObject({
      state: "note",
      fix: expect.any(String),
    });
    expect(await found("disk", { free: () => 2 ** 20 })).toMatchObject({ state: "problem" });
  });

  it("finds a directory that cannot be written", async () => {
    writeFileSync(path("file"), "");
    expect(await found("runs", { runs: path("file/runs") })).toMatchObject({
      state: "problem",
      fix: expect.any(String),
    });
  });

  it("makes nothing where runs will be", async () => {
    expect(await found("runs")).toMatchObject({ state: "ok", found: expect.stringContaining("can be made") });
    expect(await found("stats store")).toMatchObject({
      state: "ok",
      found: expect.stringContaining("SQLite works"),
    });
    expect(readdirSync(path("."))).toEqual([]);
  });

  it("opens the stats store, and says where one is broken", async () => {
    mkdirSync(path("runs"));
    await (await openStatsStore(path("runs/stats.db"))).close();
    expect(await found("stats store")).toMatchObject({
      state: "ok",
      found: expect.stringContaining("opens"),
    });
    writeFileSync(path("runs/stats.db"), "this is no database at all, and never was".repeat(100));
    expect(await found("stats store")).toMatchObject({ state: "problem", fix: expect.any(String) });
  });

  it("finds the engine that runs, and one that cannot", async () => {
    expect(await found("engine")).toMatchObject({ state: "ok", found: expect.stringContaining("wasm") });
    expect(await found("engine", { env: { ESPALIER_ENGINE: "xla" } })).toMatchObject({ state: "problem" });
    expect(await found("plugin")).toMatchObject({
      state: "note",
      fix: expect.stringContaining("engine install"),
    });
  });
});
