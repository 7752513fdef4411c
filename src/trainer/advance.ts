import type { Counters } from "../schedule/index.ts";

/** Counters while they are being made. */
export type OpenCounters = { -readonly [K in keyof Counters]: Counters[K] };

/** Counters after so many repeats. Amounts are whole numbers, so that how repeats are cut changes no sum. */
export function advance(
  counters: Counters,
  adds: Readonly<Record<string, number>>,
  repeats: number,
  seconds: number,
): Counters {
  const next: OpenCounters = { ...counters };
  move(next, adds, repeats);
  next.seconds = seconds;
  return next;
}

/** The same in place. */
export function move(counters: OpenCounters, adds: Readonly<Record<string, number>>, repeats: number): void {
  for (const name in adds) counters[name] = (counters[name] ?? 0) + (adds[name] as number) * repeats;
}

/** What some rollouts counted, together. */
export function countedIn(
  counted: Readonly<Record<string, ArrayLike<number>>>,
  from: number,
  to: number,
): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const name in counted) {
    let sum = 0;
    for (let i = from; i < to; i++) sum += (counted[name] as ArrayLike<number>)[i] ?? 0;
    sums[name] = sum;
  }
  return sums;
}
