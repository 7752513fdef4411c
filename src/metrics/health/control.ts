/**
 * Control of a run from outside, through files of its directory:
 *
 *     control/requests/ID.json   a request, put there whole (written beside, renamed): a ControlRequest with id, who, at
 *     control/state.json         what the run is doing and what can be told to it: a ControlState, replaced as it changes
 *     control/journal.jsonl      one ControlRecord a line: what was applied or refused, at which counters
 */
import type { Counters } from "../../schedule/index.ts";

/** What a run can be told. */
export type ControlAction =
  | { readonly action: "pause" | "resume" | "stop" | "checkpoint" | "evaluate" }
  /** A ramp of the task, such as `learningRate`, has this value from now on; null: that of its own again. */
  | { readonly action: "set"; readonly ramp: string; readonly value: number | null }
  | { readonly action: "enable" | "disable"; readonly hook: string };

/** A request, as it lies in the directory. */
export type ControlRequest = ControlAction & {
  readonly id: string;
  /** Who asks: shown and stored, never trusted. */
  readonly who: string;
  /** Milliseconds since 1970. */
  readonly at: number;
};

/** What became of a request. */
export interface ControlRecord {
  readonly request: ControlRequest;
  readonly outcome: "applied" | "refused";
  /** Why it was refused, or what was done. */
  readonly message: string;
  /** Where the run was. A replay applies it at the same batch. */
  readonly counters: Counters;
  /** Milliseconds since 1970 at which it was applied. */
  readonly wall: number;
}

/** What a run is doing, and what can be told to it. */
export interface ControlState {
  readonly state: "running" | "paused" | "ended";
  readonly pid: number;
  /** Milliseconds since 1970 at which this was written. */
  readonly wall: number;
  readonly counters: Counters;
  /** The task's ramps: value now, and the one that was set from outside, if any. */
  readonly ramps: Readonly<Record<string, { readonly value: number; readonly set: number | null }>>;
  readonly hooks: Readonly<Record<string, { readonly enabled: boolean }>>;
  /** Hooks that `checkpoint` and `evaluate` run; empty where there are none. */
  readonly checkpoints: readonly string[];
  readonly evaluations: readonly string[];
}
