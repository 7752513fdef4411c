// Checkpoints through `espalier/checkpoint` and no other door: a component of its own is saved, listed and restored.
import assert from "node:assert/strict";
import { CheckpointManager, memoryStore, snapshot } from "espalier/checkpoint";

let weights = Float32Array.of(1, 2, 3);
const components = {
  weights: {
    getState: () => weights,
    setState: (state: unknown) => {
      weights = state as Float32Array<ArrayBuffer>;
    },
  },
};
const manager = new CheckpointManager({ store: memoryStore() });
await manager.save(components, { step: 1, metrics: {} });
assert.equal(typeof snapshot, "function");
weights = Float32Array.of(0, 0, 0);
const latest = await manager.latest();
assert.ok(latest);
await manager.restore(components, latest);
assert.deepEqual([...weights], [1, 2, 3]);
await manager.close();
console.log("espalier/checkpoint");
