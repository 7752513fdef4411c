import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { manualClock } from "../../core/index.ts";
import { noCounters } from "../../schedule/index.ts";
import { migrations } from "./database.ts";
import type { RunEventKind, RunEvents } from "./stats-store.ts";
import { openStatsStore } from "./stats-store.ts";
import { aRecord, aRun } from "./stores.test-support.ts";

// What is in the files of fixtures/, which later versions must read. Run as a program it makes the one of this version:
//   npx tsx src/metrics/store/schema/fixture.test-support.ts

export const fixtureRun = aRun("fixture", { name: "made for later" });

export const fixtureRecords = [
  ...Array.from({ length: 3 }, (_, step) => aRecord(step, step / 3)),
  aRecord(3, Number.NaN),
  aRecord(4, Number.NEGATIVE_INFINITY),
  aRecord(5, -0),
  aRecord(6, "a text", { name: "note", reduction: "last" }),
];

const event = <K extends RunEventKind>(kind: K, ...rows: readonly RunEvents[K][]) => ({ kind, rows });

export const fixtureEvents = [
  event("evaluation", { step: 1, name: "held out", scores: { accuracy: 0.5, loss: Number.NaN }, wall: 1 }),
  event("episode", { step: 1, return: 1.5, length: 2, wall: 1, info: { seed: 1 } }),
  event("replay", { step: 1, path: "replay", uri: undefined, wall: 1 }),
  event("checkpoint", { step: 1, path: "checkpoint", uri: "s3://bucket/checkpoint", wall: 1 }),
  event("heartbeat", { step: 1, wall: 1, pid: 1, host: "here", phase: "train" }),
  event("decision", {
    hook: "h",
    event: "onEpochEnd",
    ran: true,
    why: "due",
    fromStep: 1,
    toStep: 2,
    times: 2,
  }),
  event("intervention", { step: 1, wall: 1, who: "monitor", what: "halt", details: ["NaN"] }),
];

async function make(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "espalier-fixture-"));
  const path = join(folder, "stats.db");
  const store = await openStatsStore(path, { clock: manualClock(5000) });
  await store.startRun(fixtureRun);
  await store.addMetrics("fixture", fixtureRecords);
  for (const { kind, rows } of fixtureEvents) await store.add("fixture", kind, rows as never);
  await store.setHookTimings("fixture", [{ hook: "h", count: 1, mean: 1, p99: 1, max: 1, total: 1 }]);
  await store.endRun("fixture", { outcome: "completed", counters: { ...noCounters, steps: 6 } });
  await store.close();
  // One file, and a small one.
  const small = fileURLToPath(new URL(`./fixtures/version-${migrations.length}.db`, import.meta.url));
  rmSync(small, { force: true });
  const database = new DatabaseSync(path);
  database.exec("pragma page_size = 512");
  database.prepare("vacuum into ?").run(small);
  database.close();
  rmSync(folder, { recursive: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await make();
