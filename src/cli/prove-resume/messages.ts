import { EspalierError } from "../../core/index.ts";
import type { Course } from "./plan.ts";

/** What one process is to do: all of a run, or a part of it that ends in a kill. */
export interface PartRequest {
  readonly file: string;
  readonly epochs?: number;
  readonly deterministic?: boolean;
  /** Where checkpoints lie, and after which batches they are taken, beside the one at the end. */
  readonly checkpoints: {
    readonly directory: string;
    readonly at: readonly number[];
    /** The last so many stay; all of them unless given. */
    readonly keep?: number;
  };
  /** After this batch it waits to be killed. */
  readonly pauseAt?: number;
  /** Where the state at the end is put. */
  readonly endState: string;
}

/** What a part tells its parent. */
export type PartMessage =
  /** It trains from here: so many batches are done. */
  | { readonly kind: "begun"; readonly batches: number }
  /** Its first batches are done. */
  | { readonly kind: "trained" }
  /** It waits after the batch it was to wait after. */
  | { readonly kind: "paused" }
  | {
      readonly kind: "done";
      readonly engine: string;
      readonly course: Course;
      /** Batches that were done when it began. */
      readonly resumedAt: number;
      /** The checkpoint with the state at the end. */
      readonly endState: string;
      readonly hashes: Readonly<Record<string, string>>;
      readonly outcome: string;
    }
  /** Code and fix where it is an error of ours. */
  | { readonly kind: "failed"; readonly text: string; readonly code?: string; readonly fix?: string };

export type PartDone = Extract<PartMessage, { readonly kind: "done" }>;

/** A failure as it is told. */
export function failedMessage(error: unknown): PartMessage {
  if (!(error instanceof EspalierError))
    return { kind: "failed", text: error instanceof Error ? error.message : String(error) };
  const { code, fix, message } = error;
  // The message has both at its end.
  const text = message.split(` [${code}]`)[0] ?? message;
  return { kind: "failed", text, code, ...(fix !== undefined && { fix }) };
}
