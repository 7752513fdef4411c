// Worker processes of the package as installed: this file is the trainer, and what its workers import.
import assert from "node:assert/strict";
import { isWorkerProcess, RolloutWorker, workerProcesses } from "espalier/rollout";

let scale = 0;

/** Rollouts that tell the weights they were made with. */
export const worker = ({ name, link }) =>
  new RolloutWorker({
    name,
    link,
    defaultHooks: false,
    generator: {
      lessons: ["scale"],
      setParams: ({ w }) => {
        scale = w.data[0];
      },
      rollout: async () => ({
        arrays: { x: { data: Float32Array.of(scale), shape: [1] } },
        ...{ episodes: 1, return: 0, positive: 0 },
      }),
      evaluate: async () => ({ episodes: 1, return: 0, positive: 0 }),
    },
  });

if (!isWorkerProcess()) {
  const transport = workerProcesses({ module: import.meta.url, count: 1 });
  await transport.publish({ id: 3, arrays: { w: { data: Float32Array.of(7), shape: [1] } } });
  const rollout = await transport.take();
  assert.equal(rollout.weightId, 3);
  assert.deepEqual(rollout.arrays, { x: { data: Float32Array.of(7), shape: [1] } });
  await transport.close();
  console.log(`${rollout.worker} has weights ${rollout.weightId}`);
}
