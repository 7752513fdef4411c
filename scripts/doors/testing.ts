// The suites of `espalier/testing` through no other door: hooks in the real trainer, and rows of the op table on wasm.
import assert from "node:assert/strict";
import { engineConformance, ran, simulate } from "espalier/testing";

const run = await simulate(
  { name: "watch", onEpochEnd: () => undefined, onBatchEnd: () => undefined },
  { epochs: 3, batches: 4 },
);
assert.equal(run.outcome, "completed");
assert.equal(run.calls.length, 3 + 3 * 4);
assert.deepEqual(ran(run, "watch", "epochs").at(-1), 3);

const cases = engineConformance({ engine: "wasm" });
const some = cases.filter(({ name }) => /^(the op table is whole|add: |dotGeneral: |reduceSum: )/.test(name));
assert.equal(some.length, 1 + 3 * 4);
for (const { run } of some) await run();
console.log(`espalier/testing: ${run.calls.length} calls, ${some.length} of ${cases.length} cases`);
