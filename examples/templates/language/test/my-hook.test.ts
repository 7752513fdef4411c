import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "espalier/testing";
import { stopWhenFlat } from "../my-hook.ts";

test("it ends the run when the loss stays where it is", async () => {
  const losses = [3, 2, 1, 0.999, 0.5];
  const run = await simulate(stopWhenFlat({ least: 1.01 }), {
    epochs: 5,
    validation: ({ epoch }) => ({ loss: losses[epoch] ?? 0 }),
  });
  assert.equal(run.outcome, "stopped");
  assert.equal(run.counters.epochs, 4);
});

test("it lets a run go on that gets better", async () => {
  const run = await simulate(stopWhenFlat(), {
    epochs: 5,
    validation: ({ epoch }) => ({ loss: 1 / (epoch + 1) }),
  });
  assert.equal(run.outcome, "completed");
});
