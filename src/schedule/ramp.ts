import type { Stateful } from "../state/index.ts";
import type { Counters, Unit } from "./counters.ts";

/**
 * A number that changes over time. It is asked for the counters at which a batch begins, so that the first batch has
 * the value at 0; the same counters always give the same number until it has observed new metrics.
 *
 * @example
 * ```ts
 * const learningRate = warmup({ updates: 100 }, cosine({ from: 3e-4, to: 0, over: { updates: 10_000 } }));
 * learningRate.at({ ...noCounters, updates: 50 }); // 1.5e-4
 * ```
 */
export interface Ramp {
  at(counters: Counters): number;
  /** The counters it reads. Left out: any of them. A ramp that says so may be computed ahead of counters it does not read. */
  readonly units?: readonly Unit[];
  /** The ramp in words. */
  describe(): string;
  /** The metrics it follows, in full (`train/loss`, `validation/accuracy`); the host calls `observe` with their means over each epoch, at the epoch's end. */
  readonly follows?: readonly string[];
  observe?(metrics: Readonly<Record<string, number>>): void;
  readonly state?: Stateful;
}
