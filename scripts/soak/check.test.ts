import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CheckpointManager, localStore } from "../../src/checkpoint/index.ts";
import { checkLeft } from "./check.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "espalier-soak-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Saves so many checkpoints, at batches 1, 2, ... */
async function save(count: number): Promise<readonly string[]> {
  const manager = new CheckpointManager({ store: localStore(directory) });
  const paths: string[] = [];
  for (let batches = 1; batches <= count; batches++) {
    const part = { getState: () => Float32Array.of(batches), setState: () => undefined };
    paths.push((await manager.save({ part }, { counters: { batches, updates: batches } })).path);
  }
  await manager.close();
  return paths;
}

describe("what a soak looks at after a kill", () => {
  it("is whole and tidy where nothing is wrong", async () => {
    expect(await checkLeft(join(directory, "none"), undefined, 3)).toMatchObject({
      batches: 0,
      checkpoints: 0,
    });
    await save(3);
    mkdirSync(join(directory, ".tmp-epoch-0000-update-000004-1-aa"));
    expect(await checkLeft(directory, undefined, 3)).toEqual({
      batches: 3,
      sequence: 3,
      checkpoints: 3,
      strays: [".tmp-epoch-0000-update-000004-1-aa"],
      inFlight: true,
    });
  });

  it("finds a damaged checkpoint, also one that is not the newest", async () => {
    const [first = ""] = await save(2);
    truncateSync(join(first, "values.bin"), 10);
    await expect(checkLeft(directory, undefined, 3)).rejects.toThrow(/update-000001 is damaged/);
  });

  it("finds that a checkpoint was lost", async () => {
    const paths = await save(2);
    const before = await checkLeft(directory, undefined, 3);
    rmSync(paths[1] ?? "", { recursive: true });
    await expect(checkLeft(directory, before, 3)).rejects.toThrow(
      "checkpoint 2 was there, and the newest is 1 now",
    );
  });

  it("finds checkpoints and strays that pile up", async () => {
    await save(4);
    await expect(checkLeft(directory, undefined, 1)).rejects.toThrow("4 checkpoints have piled up");
    for (const i of [1, 2, 3, 4]) writeFileSync(join(directory, `.lock-${i}`), "");
    await expect(checkLeft(directory, undefined, 3)).rejects.toThrow("strays have piled up");
  });
});
