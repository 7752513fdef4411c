import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { checkSame, soakKills } from "./kills.ts";
import { seeded } from "./random.ts";

it("kills as often as it is told, and lets the last run come to its end", { timeout: 300_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), "espalier-soak-"));
  try {
    const file = fileURLToPath(new URL("../../examples/setups/rings.ts", import.meta.url));
    const counts = await soakKills({ kills: 2, seed: 3, engine: "wasm", directory, file });
    expect(counts.kills).toBe(2);
    expect(counts.completed).toBeGreaterThanOrEqual(1);
    expect(counts.written).toBeGreaterThan(60);
    // What was checked is gone: only the uninterrupted run is left.
    expect(readdirSync(directory).sort()).toEqual(["reference", "reference-end"]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it("draws the same moments from the same seed", () => {
  const draw = (seed: number) => Array.from({ length: 5 }, seeded(seed));
  expect(draw(1)).toEqual(draw(1));
  expect(draw(1)).not.toEqual(draw(2));
  for (const number of draw(7)) expect(number).toBeGreaterThanOrEqual(0);
  for (const number of draw(7)) expect(number).toBeLessThan(1);
});

it("does not pass over an end that differs", () => {
  expect(() => checkSame({ a: "1", time: "2" }, { a: "1", time: "3" })).not.toThrow();
  expect(() => checkSame({ a: "1", b: "2" }, { a: "1", b: "3" })).toThrow(
    "not as in the uninterrupted run: b",
  );
  expect(() => checkSame({ a: "1" }, { a: "1", c: "3" })).toThrow("c");
  expect(() => checkSame({ a: "1" }, {})).toThrow("a");
  const last = { a: "1", "last metrics": "2" };
  expect(() => checkSame(last, { a: "1" })).not.toThrow();
  expect(() => checkSame(last, { a: "1", "last metrics": "3" })).toThrow("last metrics");
});
