import { once } from "node:events";
import { openStatsStore } from "./stats-store.ts";
import { aRecord, aRun } from "./stores.test-support.ts";

// A process that opens a store when it is told to and files a run of its own and a share of one that all file.
const [location = "", id = "", windows = "0"] = process.argv.slice(2);
process.stdout.write("ready\n");
await once(process.stdin, "data");
const store = await openStatsStore(location);
await store.startRun(aRun(id));
await store.startRun(aRun("shared"));
for (let step = 1; step <= Number(windows); step++) {
  const records = Array.from({ length: 20 }, (_, metric) =>
    aRecord(step, step + metric / 100, { name: `m${metric}` }),
  );
  await store.addMetrics(id, records);
  await store.addMetrics(
    "shared",
    records.map((record) => ({ ...record, key: `${id}/${record.name}` })),
  );
  await store.add(id, "heartbeat", [{ step, wall: step, pid: process.pid, host: "here", phase: "train" }]);
}
await store.endRun(id, { outcome: "completed", counters: aRecord(Number(windows), 0).counters });
await store.close();
process.exit(0);
