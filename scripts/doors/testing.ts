// The kit of `espalier/testing` through no other door: hooks in the real trainer, and a clock set by hand.
import assert from "node:assert/strict";
import { manualClock, ran, simulate } from "espalier/testing";

const run = await simulate(
  { name: "watch", onEpochEnd: () => undefined, onBatchEnd: () => undefined },
  { epochs: 3, batches: 4 },
);
assert.equal(run.outcome, "completed");
assert.equal(run.calls.length, 3 + 3 * 4);
assert.deepEqual(ran(run, "watch", "epochs").at(-1), 3);

const clock = manualClock();
const before = clock.now();
clock.advance(250);
assert.equal(clock.now() - before, 250);
console.log(`espalier/testing: ${run.calls.length} calls`);
