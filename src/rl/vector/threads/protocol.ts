import type { MessagePort } from "node:worker_threads";
import type { SentError } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import type { EnvironmentModule } from "../../environments/registry.ts";
import type { Description } from "../make-environments.ts";
import type { RowEvents } from "../rows.ts";

// How a vector and its threads talk. Numbers travel through shared memory, objects through a message port.
//
//   vector (thread-client.ts)                       thread (thread-main.ts)
//     write actions into shared memory
//     IS_STEP = 1, REQUEST += 1, notify       ──▶     wakes up, steps its environments,
//     wait for DONE = REQUEST                         sets CURRENT and CALLS before each call of one
//     no CALLS for `timeout` ms: it hangs     ◀──     STATUS = how it went, DONE = REQUEST, notify
//     STATUS is not quiet: read the message           (a message was sent before)
//
// Other requests than steps are messages, sent before REQUEST is raised.

/** Words in the control memory. */
export const REQUEST = 0;
/** The last request that is done. */
export const DONE = 1;
/** 1 where the request is a step, which has no message. */
export const IS_STEP = 2;
export const STATUS = 3;
/** How many calls of environments have begun, and which environment was called last. */
export const CALLS = 4;
export const CURRENT = 5;
/** A cache line of words. */
export const WORDS = 16;

/** What a thread is asked to do. */
export interface Commands {
  start: undefined;
  /** Takes the memory to work in, which is laid out with action masks or without. */
  attach: { readonly buffer: SharedArrayBuffer; readonly masked: boolean };
  begin: undefined;
  step: undefined;
  /** Repeats a step that was logged. */
  repeat: undefined;
  /** Sends the environments' states. */
  states: undefined;
  /** Restores the environments' states. */
  restore: readonly StateTree[];
  close: undefined;
}
export type Command = keyof Commands;

/** The message of a request. */
export type ThreadRequest<C extends Command = Command> = {
  readonly [K in C]: { readonly command: K; readonly given: Commands[K] };
}[C];

/** Outcomes of a request, as numbers in STATUS: done, done with a message, thread gone. */
export const statuses = { quiet: 0, sent: 1, gone: 2 } as const;

/** Where a thread's environments come from: a registered name, or a function that a module exports. */
export type ThreadSource = string | EnvironmentModule;

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

/** The message of a thread about a request, where there is something to say. */
export interface ThreadMessage {
  readonly made?: { readonly description: Description; readonly names: readonly string[] };
  readonly states?: readonly StateTree[];
  readonly events?: Omit<RowEvents, "restarts"> & {
    readonly restarts: readonly { readonly index: number; readonly error: SentError }[];
  };
  readonly failed?: SentError;
}
