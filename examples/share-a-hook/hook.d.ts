import type { TrainerHook } from "espalier";

export interface TargetOptions {
  /** Default: "loss", the only one that is to fall. */
  readonly metric?: string;
  readonly target: number;
}

/** Ends the run when a metric of the validation has reached a target. */
export declare function stopAtTarget(options: TargetOptions): TrainerHook;
