// Metrics through `espalier/metrics` and no other door: a stats store in a folder of its own, and control of a run.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { controlHook, controlJournal, openStatsStore, statsStoreSink } from "espalier/metrics";

const folder = mkdtempSync(join(tmpdir(), "door-"));
const store = await openStatsStore(join(folder, "stats.db"));
assert.equal(typeof statsStoreSink(store).name, "string");
assert.deepEqual(await store.runs(), []);
await store.close();
assert.equal(controlHook({ replay: controlJournal(folder) }).name, "control");
rmSync(folder, { recursive: true });
console.log("espalier/metrics");
