import type { MessagePort } from "node:worker_threads";
import type { SentError } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import type { Description } from "../make-environments.ts";

// How a vector and its threads talk. Numbers travel through shared memory, objects through a message port.
//
//   vector (thread-client.ts)                       thread (thread-main.ts)
//     write actions into shared memory
//     COMMAND = step, REQUEST += 1, notify    ──▶     wakes up, steps its environments,
//     wait for DONE = REQUEST                         sets CURRENT and CALLS before each call of one
//     no CALLS for `timeout` ms: it hangs     ◀──     STATUS = how it went, DONE = REQUEST, notify
//     STATUS is not quiet: read the message           (a message was sent before)

/** Words in the control memory. */
export const REQUEST = 0;
/** The last request that is done. */
export const DONE = 1;
export const COMMAND = 2;
export const STATUS = 3;
/** How many calls of environments have begun, and which environment was called last. */
export const CALLS = 4;
export const CURRENT = 5;
/** A cache line of words. */
export const WORDS = 16;

/** Commands, as numbers in COMMAND. */
export const commands = {
  start: 0,
  /** Takes the memory to work in. */
  attach: 1,
  begin: 2,
  step: 3,
  /** Sends the environments' states. */
  states: 4,
  /** Restores the environments' states. */
  restore: 5,
  /** Repeats logged steps. */
  repeat: 6,
  close: 7,
} as const;
export type Command = keyof typeof commands;

/** Outcomes of a request, as numbers in STATUS: done, done with a message, thread gone. */
export const statuses = { quiet: 0, sent: 1, gone: 2 } as const;

/** Where a thread's environments come from: a registered name, or a function that a module exports. */
export type ThreadSource = string | { readonly module: string; readonly name: string };

/** The data that a thread is started with. */
export interface ThreadData {
  readonly control: Int32Array;
  readonly port: MessagePort;
  readonly source: ThreadSource;
  /** Index in the vector of its first environment. */
  readonly first: number;
  readonly count: number;
  readonly policies: Uint8Array;
  /** True where the environments have action masks; undefined where that is not known. */
  readonly masked: boolean | undefined;
}

/** The message of a thread about a request, where there is something to say. Environments are counted from its first. */
export interface ThreadMessage {
  made?: { readonly description: Description; readonly names: readonly string[] };
  states?: readonly StateTree[];
  restarted?: { readonly i: number; readonly error: SentError }[];
  infos?: StepInfo[];
  /** A warning about an observation outside its bounds. */
  outOfBounds?: string;
  failed?: SentError;
}

/** The numbers in the `info` of a step of environment i. */
export interface StepInfo {
  readonly i: number;
  readonly info: Readonly<Record<string, number>>;
}

/** Message of `attach`: the memory, and what is needed to lay it out. */
export interface Attach {
  readonly buffer: SharedArrayBuffer;
  readonly masked: boolean;
}

/** Message of `repeat`: actions and lessons of `steps` steps, one after the other. */
export interface Repeat {
  readonly steps: number;
  readonly actions: Float32Array;
  readonly nextLessons: Int32Array;
}
