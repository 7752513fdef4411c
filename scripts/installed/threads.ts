// Run as a bundle, with the package beside it and without: checkpoints are saved, verified and restored either way;
// threads of environments need the package, and say so.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StateTree } from "espalier";
import { CheckpointManager, localStore } from "espalier/checkpoint";
import { threadedEnvironment } from "espalier/rl";

let threads = 0;
process.on("worker", () => threads++);

const folder = mkdtempSync(join(tmpdir(), "espalier-threads-"));
try {
  let state: StateTree = { w: Float32Array.of(1, 2, 3) };
  const part = {
    getState: () => state,
    setState: (next: StateTree) => {
      state = next;
    },
  };
  const manager = new CheckpointManager({ store: localStore(folder) });
  await manager.save({ part }, { step: 1 });
  state = { w: new Float32Array(3) };
  const newest = await manager.latest();
  assert.ok(newest);
  await manager.restore({ part }, newest);
  assert.deepEqual(state, { w: Float32Array.of(1, 2, 3) });
  await manager.close();
} finally {
  rmSync(folder, { recursive: true });
}
const files = threads;
let environments: string;
try {
  const vector = threadedEnvironment({ make: "CartPole-v1", count: 2, threads: 1 });
  vector.reset(1);
  vector.close();
  environments = "threads of environments";
} catch (error) {
  environments = (error as { readonly code: string }).code;
}
console.log(`espalier: checkpoints by ${files} threads; ${environments}`);
