import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "espalier/testing";
import { warnWhenPoor } from "../my-hook.ts";

test("it warns once where the accuracy stays low", async () => {
  const hook = warnWhenPoor({ least: 0.6, after: 3 });
  const run = await simulate(hook, { epochs: 6, validation: { accuracy: 0.5 } });
  assert.equal(run.warnings.length, 1);
  assert.match(run.warnings[0] ?? "", /0\.50 after 3 epochs/);
});

test("it is silent where the accuracy is good", async () => {
  const run = await simulate(warnWhenPoor(), { epochs: 12, validation: { accuracy: 0.9 } });
  assert.deepEqual(run.warnings, []);
});
