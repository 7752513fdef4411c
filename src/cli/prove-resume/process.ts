import { EspalierError, errorText } from "../../core/index.ts";
import { type Self, startChild } from "../run-again.ts";
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

export function failedMessage(error: unknown): PartMessage {
  if (!(error instanceof EspalierError))
    return { kind: "failed", text: error instanceof Error ? error.message : String(error) };
  const { code, fix } = error;
  return { kind: "failed", text: errorText(error), code, ...(fix !== undefined && { fix }) };
}

export type PartProcess = ReturnType<typeof startPart>;

export function startPart(self: Self, what: string, request: PartRequest, env: NodeJS.ProcessEnv) {
  const { child, messages, gone, output } = startChild<PartMessage>(self, "prove-resume-part", request, {
    env: { ...process.env, ...env },
  });
  let killed = false;
  const find = <K extends PartMessage["kind"]>(kind: K) =>
    messages.find((message): message is Extract<PartMessage, { kind: K }> => message.kind === kind);
  const early = (how: string): EspalierError => {
    const ended = killed ? "it was killed" : `it ended before its time (${how})`;
    const { code, fix, text = ended } = find("failed") ?? {};
    // Its output helps only where the error does not explain itself.
    const printed = code === undefined && output() !== "" ? `\n${output().replace(/^/gm, "    ")}` : "";
    const options = fix === undefined ? {} : { fix };
    return new EspalierError(code ?? "PROOF_FAILED", `${what}: ${text}${printed}`, options);
  };
  const done = gone.then((how) => {
    const last = find("done");
    if (last && how === "exit code 0") return last;
    throw early(how);
  });
  done.catch(() => undefined); // It is not always waited for.
  return {
    pid: child.pid ?? 0,
    /** Resolves with its first message of a kind; rejects where it ends before. */
    told: <K extends PartMessage["kind"]>(kind: K): Promise<Extract<PartMessage, { kind: K }>> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = find(kind);
          if (found) resolve(found);
        };
        look();
        child.on("message", look);
        void gone.then((how) => reject(early(how)));
      }),
    /** Its last message; rejects where it failed or was killed. */
    done,
    /** Ends it at once with SIGKILL and resolves when it is gone: false where it had ended by itself before. */
    kill: async (): Promise<boolean> => {
      killed = true;
      child.kill("SIGKILL");
      return (await gone) === "SIGKILL";
    },
  };
}
