// Metrics through `espalier/metrics` and no other door: a stats store in a folder of its own, and a heartbeat.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStatsStore, statsStoreSink } from "espalier/metrics";

const folder = mkdtempSync(join(tmpdir(), "door-"));
const store = await openStatsStore(join(folder, "stats.db"));
assert.equal(typeof statsStoreSink(store).name, "string");
assert.deepEqual(await store.runs(), []);
await store.close();
rmSync(folder, { recursive: true });
console.log("espalier/metrics");
