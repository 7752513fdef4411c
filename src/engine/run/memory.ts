import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

let liveTensors = 0;
let liveBytes = 0;
let bytesSinceCollection = 0;
let sinceTurn = 0;

/** How many tensors are alive and how much memory they hold, over all engines. */
export const memory = (): { readonly tensors: number; readonly bytes: number } => ({
  tensors: liveTensors,
  bytes: liveBytes,
});

/** New device memory that may pile up before the collector is asked to look for tensors nobody holds. */
const pressure = 256 * 1024 * 1024;
/** Tensors made without a turn of the event loop, in which alone collected ones are freed. */
const turnEvery = 4096;

export function noteMade(bytes: number): void {
  liveTensors++;
  liveBytes += bytes;
  bytesSinceCollection += bytes;
  sinceTurn++;
  // JavaScript's collector sees a tensor as a few bytes and would let gigabytes of device memory wait.
  if (bytesSinceCollection > pressure && liveBytes > pressure) collect();
}

export function noteFreed(bytes: number): void {
  liveTensors--;
  liveBytes -= bytes;
}

let collector: (() => void) | undefined;

function collect(): void {
  bytesSinceCollection = 0;
  if (!collector) {
    setFlagsFromString("--expose-gc");
    collector = runInNewContext("gc") as () => void;
    setFlagsFromString("--no-expose-gc");
  }
  collector();
  sinceTurn = turnEvery;
}

/** Lets the event loop turn once in a while, so that collected tensors are freed in loops that only await reads. */
export function turnIfDue(): Promise<void> | undefined {
  if (sinceTurn < turnEvery) return undefined;
  sinceTurn = 0;
  return new Promise((resolve) => setImmediate(resolve));
}
