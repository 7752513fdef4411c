import { performance } from "node:perf_hooks";

/** How long it takes to do something, in seconds. */
export async function seconds(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
