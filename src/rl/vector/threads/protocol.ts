import type { MessagePort } from "node:worker_threads";
import type { StateTree } from "../../../state/index.ts";
import type { Description } from "../description.ts";
import type { SentError } from "./sent-error.ts";

/** Words in the memory by which a thread and the one that leads it speak. */
export const REQUEST = 0;
/** The request that is done: what is waited for. */
export const DONE = 1;
export const COMMAND = 2;
export const STATUS = 3;
/** How many calls of environments have begun, and the last one's environment: whether it moves, and who hangs. */
export const CALLS = 4;
export const CURRENT = 5;
/** A cache line of words. */
export const WORDS = 16;

/** What a thread can be asked, as numbers in COMMAND. */
export const commands = {
  start: 0,
  /** Takes the memory to work in. */
  attach: 1,
  begin: 2,
  step: 3,
  /** Sends the environments' states. */
  states: 4,
  /** Takes the environments' states. */
  restore: 5,
  /** Repeats steps that were done before. */
  repeat: 6,
  close: 7,
} as const;

/** How a request went, as numbers in STATUS: well, well and something was sent, not at all, and never again. */
export const statuses = { quiet: 0, sent: 1, failed: 2, gone: 3 } as const;

/** Where environments of threads come from: a registered name, or what a module exports. */
export type Source = string | { readonly module: string; readonly name: string };

/** What a thread is given when it starts. */
export interface ThreadData {
  readonly control: Int32Array;
  readonly port: MessagePort;
  readonly source: Source;
  readonly first: number;
  readonly count: number;
  readonly policies: Uint8Array;
  /** Whether the environments have action masks, where it is known. */
  readonly masked: boolean | undefined;
}

/** What a thread sends. */
export type Answer =
  | { readonly kind: "made"; readonly description: Description; readonly names: readonly string[] }
  | { readonly kind: "states"; readonly states: readonly StateTree[] }
  | { readonly kind: "restarted"; readonly i: number; readonly error: SentError }
  | { readonly kind: "informed"; readonly infos: readonly Informed[] }
  | { readonly kind: "outside"; readonly text: string }
  | { readonly kind: "failed"; readonly error: SentError };

/** The numbers that a step of one of a thread's environments had in its info. */
export interface Informed {
  readonly i: number;
  readonly info: Readonly<Record<string, number>>;
}

/** The memory a thread works in, and what it must know to lay it out. */
export interface Attach {
  readonly buffer: SharedArrayBuffer;
  readonly masked: boolean;
}

/** Steps that were done, one after the other. */
export interface Repeat {
  readonly steps: number;
  readonly actions: Float32Array;
  readonly nextLessons: Int32Array;
}
