// In a process of its own: the most memory that is resident while images are loaded in batches, above what it has when
// as many workers have loaded one.
import { createLoader, imageFolder } from "../../src/data/index.ts";

const [path = "", batchSize, workers] = process.argv.slice(2);
const loaderOf = (batchSize: number) =>
  createLoader(imageFolder(path), { batchSize, workers: Number(workers), reuse: true });

const first = loaderOf(1);
await first.peek(Number(workers));
const before = process.memoryUsage.rss();
await first.close();
let most = 0;
const loader = loaderOf(Number(batchSize));
for await (const _ of loader) most = Math.max(most, process.memoryUsage.rss());
await loader.close();
process.send?.((most - before) / 1e6);
