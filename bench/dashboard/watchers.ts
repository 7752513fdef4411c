// A process with a dashboard and clients that listen to a run: node watchers.ts DIRECTORY RUN CLIENTS. It tells its parent
// when all are connected, and ends with it.
import { get } from "node:http";
import { join } from "node:path";
import { startDashboard } from "../../src/dashboard/index.ts";
import { openStatsStore } from "../../src/metrics/index.ts";

const [directory = "", run = "", clients = "10"] = process.argv.slice(2);
const store = await openStatsStore(join(directory, "stats.db"));
const { url } = await startDashboard({ store, directory, port: 0 });
let received = 0;
await Promise.all(
  Array.from(
    { length: Number(clients) },
    () =>
      new Promise<void>((connected, failed) => {
        get(`${url}api/live?run=${run}`, (response) => {
          connected();
          response.on("data", (data: Buffer) => {
            received += data.length;
          });
        }).on("error", failed);
      }),
  ),
);
process.on("message", () => process.send?.({ received }));
process.on("disconnect", () => process.exit(0));
process.send?.("connected");
