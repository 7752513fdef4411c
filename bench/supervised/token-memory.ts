// In a process of its own: the most memory that is resident while it trains on a file, above what it has after the same
// training from memory.
import { trainOnce, windowsInMemory, windowsOfFile } from "./token-run.ts";

await trainOnce(windowsInMemory());
const before = process.memoryUsage.rss();
const windows = windowsOfFile(Number(process.argv[2]));
let most = 0;
const watch = setInterval(() => {
  most = Math.max(most, process.memoryUsage.rss());
}, 10);
await trainOnce(windows);
clearInterval(watch);
process.send?.((most - before) / 1e6);
