// Where every worker thread of Espalier begins: see threads.ts. Plain JavaScript, because Node 20 gives a thread no
// loader of TypeScript: where one is needed, it is registered here before anything else is imported.
import { workerData } from "node:worker_threads";

const { file, data, tsx } = workerData;
if (tsx !== undefined) {
  await import(tsx);
  (await import(new URL("./esm/api/index.mjs", tsx).href)).register();
}
const { runThread } = await import(file);
await runThread(data);
