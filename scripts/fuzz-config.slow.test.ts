import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { root } from "./compiler-options.ts";

it("150 mutations of the example files are planned, or refused with their places", () => {
  const args = ["--import", "tsx", "scripts/fuzz-config.ts", "--count", "150", "--seed", "7", "--jobs", "1"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "150 of 150\n" });
  const [refused = 0, planned = 0] = [...stdout.matchAll(/\d+/g)].map(Number);
  expect(refused + planned).toBe(150);
  expect(Math.min(refused, planned)).toBeGreaterThan(10);
}, 300_000);
