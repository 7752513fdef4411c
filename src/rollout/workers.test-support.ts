import { EspalierError } from "../core/index.ts";
import type { WorkerStart } from "./processes.ts";

// Workers of processes that end in ways that tests look at.

/** Dies before it has made anything. */
export function dying({ options }: WorkerStart): never {
  throw new Error(`there is no ${String(options)}`);
}

/** Dies of an error of ours around one of a hook's own, whose stack is long. */
export function failing(): never {
  const cause = new Error("no luck");
  cause.stack = `Error: no luck${"\n    at somewhere".repeat(30)}`;
  throw new EspalierError("HOOK_FAILED", `hook "bad" failed: ${cause.message}`, { fix: "mend it", cause });
}

/** Has nothing more to do after one rollout. */
export const ending = ({ name, link }: WorkerStart) => ({
  run: async () => {
    const { id = -1 } = (await link.receive({ wait: true })) ?? {};
    await link.send({
      ...{ id: `${name}/1`, worker: name, weightId: id, lesson: "", arrays: {} },
      ...{ episodes: 1, return: 0, positive: 0 },
    });
  },
});

/** Waits until it is told to end, and says so. */
export const waiting = ({ link }: WorkerStart) => ({
  run: async ({ signal }: { readonly signal: AbortSignal }) => {
    process.stdout.write(`has weights ${(await link.receive({ wait: true }))?.id}\n`);
    await link.receive({ wait: true, signal });
    process.stderr.write(`ends: ${String(signal.reason)}\n`);
  },
});

/** Neither yields nor hears of anything once it has weights: for a second, and sends a rollout then, or for ever. */
export const blocking = ({ name, link, options }: WorkerStart) => ({
  run: async () => {
    await link.receive({ wait: true });
    process.stdout.write("blocks\n");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, options === "for ever" ? undefined : 1000);
    await link.send({
      ...{ id: `${name}/1`, worker: name, weightId: 5, lesson: "", arrays: {} },
      ...{ episodes: 1, return: 0, positive: 0 },
    });
  },
});

/** The URL of this file. */
export const workersModule = import.meta.url;
