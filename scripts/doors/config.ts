// A run from a file through `espalier/config` and no other door.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRun, reopenRun } from "espalier/config";

const directory = mkdtempSync(join(tmpdir(), "espalier-door-"));
try {
  const file = join(directory, "run.yaml");
  const runs = JSON.stringify(join(directory, "runs"));
  writeFileSync(file, `task: { use: ppo, env: CartPole-v1, totalSteps: 512 }\ndirectory: ${runs}\n`);
  const run = await createRun(file, { quiet: true });
  const { outcome, counters } = await run.train();
  assert.equal(outcome, "completed");
  const again = await reopenRun(run.directory, { quiet: true });
  assert.equal((await again.train()).counters.updates, counters.updates);
  console.log(`espalier/config: ${counters.updates} updates from a file`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
