import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { PartDone, PartRequest } from "../../src/cli/prove-resume/process.ts";
import { startPart } from "../../src/cli/prove-resume/process.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const program = [process.execPath, "--import", "tsx", main] as const;

/** When a process is killed: so long after it was started, had restored its state, or had trained its first batch. */
export interface Moment {
  readonly from: "start" | "begun" | "trained";
  readonly milliseconds: number;
}

/** How a process's life went. */
export interface Life {
  /** What it told at its end; undefined where it was killed. */
  readonly done: PartDone | undefined;
  /** Batches that were done when it began to train; undefined where it was killed before. */
  readonly begun: number | undefined;
}

/** Lets a process train until it is done, or until it is killed. A failure of its own is thrown. */
export async function live(
  what: string,
  request: PartRequest,
  engine: string,
  killed?: Moment,
): Promise<Life> {
  const part = startPart(program, what, request, { ESPALIER_ENGINE: engine });
  let begun: number | undefined;
  // Where it never begins, `done` says why.
  const beginning = part.told("begun").then(
    ({ batches }) => {
      begun = batches;
    },
    () => undefined,
  );
  if (killed) {
    const { from, milliseconds } = killed;
    const clock = {
      start: Promise.resolve(),
      begun: beginning,
      trained: part.told("trained").catch(() => undefined),
    }[from];
    const alarm = clock.then(() => wait(milliseconds));
    // It may end, or fail, before its time has come.
    await Promise.race([part.done.catch(() => undefined), alarm]);
    if (await part.kill()) return { done: undefined, begun };
  }
  return { done: await part.done, begun };
}
