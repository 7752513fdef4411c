// Run by memory.ts in a fresh process with --expose-gc: logs ten million values and tells what memory it took.
import { freshFolder } from "../harness/scratch.ts";
import { allLocalSinks } from "./all-sinks.ts";

const steps = Number(process.argv[2]);
const resident = (): number => {
  globalThis.gc?.();
  return process.memoryUsage.rss() / 1e6;
};
const { logger, close } = await allLocalSinks(freshFolder("endure"));
const values: Record<string, number> = {};
const log = async (from: number, to: number): Promise<void> => {
  for (let step = from; step < to; step++) {
    for (let m = 0; m < 50; m++) values[`metric${m}`] = step / (m + 1);
    logger.log(values, step);
    if (step % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
};
await log(1, steps / 10);
const before = resident();
await log(steps / 10, steps);
const gained = resident() - before;
await close();
process.send?.(Math.max(0, gained));
