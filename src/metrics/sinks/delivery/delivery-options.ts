import type { Clock } from "../../../core/index.ts";
import type { SinkFiles } from "../files.ts";
import type { Timers } from "./timers.ts";

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

/** What a delivery keeps to. Times are in milliseconds. */
export interface DeliveryLimits {
  /** Records that wait in memory. */
  readonly records: number;
  /** Records of one call, where several windows wait. */
  readonly batch: number;
  /** After this time a call without an answer counts as failed. */
  readonly deadline: number;
  /** How long `close` waits. */
  readonly closing: number;
  /** Before a failed call is made again: at first, and at most. It doubles in between. */
  readonly retry: readonly [first: number, longest: number];
  /** Failures in a row after which all that waits goes to disk, lest it be lost with the process. */
  readonly toDiskAfter: number;
  /** How large a spill file may become. */
  readonly spillBytes: number;
  /** A synchronous call that takes longer holds training up, which is said. */
  readonly slow: number;
}

export const deliveryLimits: DeliveryLimits = {
  records: 10_000,
  batch: 1_000,
  deadline: 30_000,
  closing: 10_000,
  retry: [100, 30_000],
  toDiskAfter: 3,
  spillBytes: 2 ** 30,
  slow: 50,
};
