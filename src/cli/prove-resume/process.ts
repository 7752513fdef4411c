import { spawn } from "node:child_process";
import { EspalierError } from "../../core/index.ts";
import { gathered, type Self } from "../run-again.ts";
import type { Course } from "./prove.ts";

/** The work of one process: all of a run, or a part of it that ends in a kill. */
export interface PartRequest {
  /** A module that exports a training set-up, or the directory of a run. */
  readonly file: string;
  readonly isRun?: boolean;
  /** The engine that is asked for, whatever the run's configuration says. */
  readonly engine?: string;
  readonly epochs?: number;
  readonly deterministic?: boolean;
  /** The directory of checkpoints, and the batches after which they are taken, beside the one at the end. */
  readonly checkpoints: {
    readonly directory: string;
    readonly at: readonly number[];
    /** The number of newest ones that stay. Default: all. */
    readonly keep?: number;
  };
  /** After this batch it waits to be killed. */
  readonly pauseAt?: number;
  /** The directory of the state at the end. */
  readonly endState: string;
}

/** A message of a part to its parent. */
export type PartMessage =
  /** It begins to train: this many batches were done before. */
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

/** The message of a failure. */
export function failedMessage(error: unknown): PartMessage {
  if (!(error instanceof EspalierError))
    return { kind: "failed", text: error instanceof Error ? error.message : String(error) };
  const { code, fix, message } = error;
  // The message has both at its end.
  const text = message.split(` [${code}]`)[0] ?? message;
  return { kind: "failed", text, code, ...(fix !== undefined && { fix }) };
}

/** A part that runs in a process of its own. */
export interface PartProcess {
  readonly pid: number;
  /** Resolves when it begins to train, with the batches that were done before; rejects where it ends before. */
  readonly begun: Promise<number>;
  /** Resolves when its first batches are done; rejects where it ends before. */
  readonly trained: Promise<void>;
  /** Resolves when it waits to be killed; rejects where it ends before. */
  readonly paused: Promise<void>;
  /** Its last message; rejects where it failed or was killed. */
  readonly done: Promise<PartDone>;
  /** Ends it at once with SIGKILL and resolves when it is gone: false where it had ended by itself before. */
  kill(): Promise<boolean>;
}

export function startPart(
  [node, ...args]: Self,
  what: string,
  request: PartRequest,
  env: NodeJS.ProcessEnv,
): PartProcess {
  const child = spawn(node, [...args, "prove-resume-part", JSON.stringify(request)], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: { ...process.env, ...env },
  });
  const output = gathered(child, 4000);
  let killed = false;
  let told: PartDone | undefined;
  let failed: Extract<PartMessage, { readonly kind: "failed" }> | undefined;
  const gone = new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const early = (how: string): EspalierError => {
    const { code, fix, text = killed ? "it was killed" : `it ended before its time (${how})` } = failed ?? {};
    // Its output helps only where the error does not explain itself.
    const printed = code === undefined && output() !== "" ? `\n${output().replace(/^/gm, "    ")}` : "";
    return new EspalierError(
      code ?? "PROOF_FAILED",
      `${what}: ${text}${printed}`,
      fix === undefined ? {} : { fix },
    );
  };
  /** A message of one kind, or the failure that comes instead. */
  const first = <K extends PartMessage["kind"]>(kind: K): Promise<Extract<PartMessage, { kind: K }>> =>
    new Promise((resolve, reject) => {
      child.on("message", (message: PartMessage) => {
        if (message.kind === kind) resolve(message as Extract<PartMessage, { kind: K }>);
      });
      void gone.then((how) => reject(early(how)));
    });
  child.on("message", (message: PartMessage) => {
    if (message.kind === "done") told = message;
    else if (message.kind === "failed") failed = message;
  });
  const begun = first("begun").then(({ batches }) => batches);
  const trained = first("trained").then(() => undefined);
  const paused = first("paused").then(() => undefined);
  const done = gone.then((how) => {
    if (told && how === "exit code 0") return told;
    throw early(how);
  });
  // Not all of them are waited for.
  for (const promise of [begun, trained, paused, done]) promise.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    begun,
    trained,
    paused,
    done,
    kill: async () => {
      killed = true;
      child.kill("SIGKILL");
      return (await gone) === "SIGKILL";
    },
  };
}
