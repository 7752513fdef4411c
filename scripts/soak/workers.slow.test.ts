import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { check, soakWorkers } from "./workers.ts";

it("training goes on while workers are killed, and every rollout counts once", {
  timeout: 300_000,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), "espalier-soak-"));
  try {
    const counts = await soakWorkers({ kills: 2, workers: 2, seed: 1, directory });
    expect(counts).toMatchObject({ kills: 2, updates: 306 });
    expect(counts.acknowledged).toBeGreaterThan(1000);
    expect(counts.taken).toBeGreaterThanOrEqual(4 * 306);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it("does not pass over a rollout that is lost or taken twice", () => {
  expect(() => check(["a", "b"], ["a", "b", "c"], 1)).not.toThrow();
  expect(() => check(["a", "b"], ["a"], 0)).not.toThrow();
  expect(() => check(["a", "b", "a"], ["a", "b"], 0)).toThrow("taken twice: a");
  expect(() => check(["a", "b"], ["a", "b", "c"], 0)).toThrow("missing: c");
});
