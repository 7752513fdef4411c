/**
 * Rewards of generated texts.
 */
import type { EspalierError } from "../core/index.ts";

/** A text that a model made for a problem. */
export interface TextSample {
  readonly lesson: string;
  readonly prompt: string;
  readonly answer?: string;
  readonly data?: unknown;
  /** The model's text, without the prompt and the stop. */
  readonly text: string;
  readonly tokens: Int32Array;
}

/** Judges a sample. */
export type TextReward = (sample: TextSample) => number | Promise<number>;

/** The value of a promise, or the error where it is not there in time. What comes later is ignored. */
export function inTime<T>(
  promise: Promise<T>,
  timeout: number,
  signal: AbortSignal | undefined,
  late: () => EspalierError,
): Promise<T> {
  signal?.throwIfAborted();
  let settle = (): void => undefined;
  const limit = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(late()), timeout);
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    settle = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    };
  });
  return Promise.race([promise, limit]).finally(settle);
}
