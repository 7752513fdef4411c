import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrainerHook } from "espalier";
import { evaluationScores } from "espalier/hooks";
import { environmentFaults, simulate } from "espalier/testing";
import { makeCatch } from "../catch.ts";
import { stopWhenSolved } from "../my-hook.ts";

/** An evaluation whose score grows by 0.3 each epoch. */
const evaluation: TrainerHook = {
  name: "evaluation",
  provides: [evaluationScores],
  onEpochEnd: ({ slots, counters }) =>
    slots.set(evaluationScores, { scores: { return: 0.3 * counters.epochs }, counters }),
};

test("it ends the run at the target, and not before", async () => {
  const run = await simulate([stopWhenSolved({ target: 0.5 }), evaluation], { epochs: 10 });
  assert.equal(run.outcome, "stopped");
  assert.equal(run.counters.epochs, 2);
});

test("a run that never gets there goes to its end", async () => {
  const run = await simulate([stopWhenSolved({ target: 99 }), evaluation], { epochs: 3 });
  assert.equal(run.outcome, "completed");
});

test("the game keeps the rules of environments", async () => {
  assert.deepEqual(await environmentFaults(makeCatch), []);
});
