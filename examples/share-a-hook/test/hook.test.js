import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "espalier/testing";
import { stopAtTarget } from "../hook.js";

test("it ends the run at the target", async () => {
  const run = await simulate(stopAtTarget({ metric: "accuracy", target: 0.5 }), {
    epochs: 9,
    validation: ({ epoch }) => ({ accuracy: 0.2 * (epoch + 1) }),
  });
  assert.equal(run.outcome, "stopped");
  assert.equal(run.counters.epochs, 3);
});

test("it asks for a target", () => {
  assert.throws(() => stopAtTarget({}), /OPTION_INVALID/);
});
