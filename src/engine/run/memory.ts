import { nextTurn, node, onNode } from "../../core/index.ts";
import type { Backend, Native } from "./backend.ts";

let liveTensors = 0;
let liveBytes = 0;
let waitingTensors = 0;
let waitingBytes = 0;
let sinceTurn = 0;

/** Number of live tensors and the memory they hold, over all engines. */
export const memory = (): { readonly tensors: number; readonly bytes: number } => ({
  tensors: liveTensors,
  bytes: liveBytes,
});

/** Overhead of a tensor beside its bytes: handles and headers in the engine, objects here. */
const each = 32 * 1024;
/** Growth beyond what is in use before the garbage collector is asked to run. */
const slack = 256 * 1024 * 1024;
/** Of what is in use: what waits to be freed is found already, and looking for it again would find nothing. */
const weight = (): number => liveBytes - waitingBytes + (liveTensors - waitingTensors) * each;
/** Tensors made without a turn of the event loop, in which alone collected ones are freed. */
const turnEvery = 4096;
let ceiling = slack;

export function noteMade(bytes: number): void {
  liveTensors++;
  liveBytes += bytes;
  sinceTurn++;
  // JavaScript's collector sees a tensor as a few bytes of its own and would let gigabytes of device memory wait.
  if (weight() > ceiling) collect();
}

export function noteFreed(bytes: number): void {
  liveTensors--;
  liveBytes -= bytes;
}

/** One more that was collected and waits to be freed; one less once it is. */
export function noteWaiting(tensors: 1 | -1, bytes: number): void {
  waitingTensors += tensors;
  waitingBytes += tensors * bytes;
}

let collector: (() => void) | undefined;

/** Node's collector, which can be asked to run. A browser's cannot. */
function exposeCollector(): () => void {
  if (!onNode()) return () => {};
  node.v8.setFlagsFromString("--expose-gc");
  const gc = node.vm.runInNewContext("gc") as () => void;
  node.v8.setFlagsFromString("--no-expose-gc");
  return gc;
}

function collect(): void {
  collector ??= exposeCollector();
  collector();
  const raise = () => {
    ceiling = weight() + Math.max(slack, weight() / 2);
  };
  raise();
  // What was found is freed in the next turn of the event loop; only then is it known how much is in use.
  sinceTurn = turnEvery;
  nextTurn(raise);
}

/** Lets the event loop turn once in a while, so that collected tensors are freed in loops that only await reads. */
export function turnIfDue(): Promise<void> | undefined {
  if (sinceTurn < turnEvery) return undefined;
  sinceTurn = 0;
  return new Promise<void>((resolve) => nextTurn(resolve));
}

/** The engine's buffer behind a tensor, apart from it so that it can be freed when the tensor has been collected. */
export interface Held {
  readonly backend: Backend;
  readonly bytes: number;
  native: Native;
}

/** Frees at once. Doing it twice does no harm. */
export function release(held: Held): void {
  if (held.native === undefined) return;
  const { native } = held;
  held.native = undefined;
  held.backend.free(native);
  noteFreed(held.bytes);
}

/** Small buffers that are no longer reachable. */
const waiting: Held[] = [];
const smallBytes = 64 * 1024;
/** Number freed with each new tensor, and in each turn of the event loop: few enough to take no noticeable time. */
const perTensor = 4;
const perTurn = 256;

/**
 * Frees soon: the collector finds thousands of small buffers at once, and training would stand still while all of them
 * are freed.
 */
export function releaseSoon(held: Held): void {
  if (held.bytes > smallBytes) {
    release(held);
    return;
  }
  noteWaiting(1, held.bytes);
  if (waiting.push(held) === 1) nextTurn(sweep);
}

/** Frees a few of those that wait. */
export function releaseSome(count = perTensor): void {
  for (let i = 0; i < count; i++) {
    const held = waiting.pop();
    if (!held) return;
    noteWaiting(-1, held.bytes);
    release(held);
  }
}

function sweep(): void {
  releaseSome(perTurn);
  if (waiting.length > 0) nextTurn(sweep);
}
