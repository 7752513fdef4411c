import type { Clock } from "../../../core/index.ts";
import type { SinkFiles } from "../files.ts";
import type { Timers } from "./timers.ts";

/** How a sink that fails is tried again, and where its records wait. */
export interface DeliveryOptions {
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  /** A directory for what a failing sink does not take. Without one the oldest is lost beyond `limits.records`. */
  readonly spill?: string | undefined;
  readonly limits?: Partial<DeliveryLimits> | undefined;
  /** Default the machine's own, as are `files`. */
  readonly timers?: Timers | undefined;
  readonly files?: SinkFiles | undefined;
}

/**
 * What a delivery keeps to. All times are in seconds.
 *
 * @example
 * ```ts
 * // A service that may be away for minutes: two of them for an answer, one for what is left at the end.
 * const logger = new Logger({ sinks, delivery: { deadline: 120, closing: 60 } });
 * ```
 */
export interface DeliveryLimits {
  /** Records that wait in memory. Default 10,000. */
  readonly records: number;
  /** Records of one call, where several windows wait. Default 1,000. */
  readonly batch: number;
  /** Seconds after which a call without an answer counts as failed. Default 30. */
  readonly deadline: number;
  /** Seconds for which `close` waits. Default 10. */
  readonly closing: number;
  /** Seconds before a failed call is made again: at first, and at most. It doubles in between. Default `[0.1, 30]`. */
  readonly retry: readonly [first: number, longest: number];
  /** Failures in a row after which all that waits goes to disk, lest it be lost with the process. Default 3. */
  readonly toDiskAfter: number;
  /** Bytes that a spill file may have. Default 2^30, a gibibyte. */
  readonly spillBytes: number;
  /** A synchronous call that takes more seconds holds training up, which is said. Default 0.05. */
  readonly slow: number;
}

export const deliveryLimits: DeliveryLimits = {
  records: 10_000,
  batch: 1_000,
  deadline: 30,
  closing: 10,
  retry: [0.1, 30],
  toDiskAfter: 3,
  spillBytes: 2 ** 30,
  slow: 0.05,
};
