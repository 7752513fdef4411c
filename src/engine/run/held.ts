import type { Backend, Native } from "./backend.ts";
import { noteFreed, noteWaiting } from "./memory.ts";

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
  if (waiting.push(held) === 1) setImmediate(sweep);
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
  if (waiting.length > 0) setImmediate(sweep);
}
