import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { at } from "../../schedule/index.ts";
import type { TrainerContext, TrainerHook } from "../../trainer/index.ts";
import { type ProfilerHookOptions, planOf } from "./profiler-options.ts";
import { ProfilerSession } from "./profiler-session.ts";

/**
 * Writes a CPU profile of chosen epochs, each from its beginning to its end, as `epoch-1.cpuprofile`: for the
 * Performance panel of Chrome's developer tools, for VS Code, or for speedscope. It shows what JavaScript does on the
 * main thread; what a device or a native library does is time spent in a call. A run that ends within an epoch leaves
 * the profile of what there was of it; epochs that it never came to are warned of at its end.
 *
 * Only the chosen epochs are watched, so that all others stay fused. A profile that cannot be taken or written is
 * warned of, and training goes on. One profile at a time is taken in a process.
 *
 * @example
 * ```ts
 * const hooks = [profilerHook({ epochs: [1, 10], directory: "runs/mnist/profiles" })];
 * ```
 */
export function profilerHook(options: ProfilerHookOptions): TrainerHook {
  const { name, epochs, directory, interval } = planOf(options);
  let warn: (text: string) => void = () => undefined;
  let taking: { readonly epoch: number; readonly session: ProfilerSession } | undefined;
  /** The last epoch whose beginning was heard of. */
  let begun: number | undefined;

  /** Does what must not break training. */
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (cause) {
      warn(`${what}: ${cause instanceof Error ? cause.message : String(cause)}; training goes on`);
    }
  };
  const begin = ({ counters: { epoch } }: TrainerContext): Promise<void> =>
    attempt(`no profile of epoch ${epoch}`, async () => {
      begun = epoch;
      taking = { epoch, session: await ProfilerSession.begin(`profilerHook "${name}"`, interval) };
    });
  const end = async ({ counters: { epoch } }: TrainerContext): Promise<void> => {
    const taken = taking;
    taking = undefined;
    if (taken)
      await attempt(`no profile of epoch ${taken.epoch}`, async () => {
        const profile = await taken.session.end();
        await write(directory, `epoch-${taken.epoch}.cpuprofile`, profile);
      });
    else if (begun !== epoch && epochs.includes(epoch))
      warn(
        `no profile of epoch ${epoch}: it was begun by another process, and only whole epochs are profiled`,
      );
  };
  /** Epochs that a run which has ended never came to. */
  const sayMissed = ({ counters: { epochs: completed } }: TrainerContext): void => {
    const missed = epochs.filter((epoch) => epoch >= completed && epoch !== begun);
    if (missed.length === 0) return;
    const ended = `the run ended after ${completed} ${completed === 1 ? "epoch" : "epochs"}`;
    warn(`no profile of epoch ${missed.join(", ")}: ${ended}, and the first one is epoch 0`);
  };

  const children: readonly TrainerHook[] = [
    // At its start as many epochs are completed as its index says; at its end one more.
    {
      name: `${name}.begin`,
      schedule: at({ epochs }),
      priority: Number.POSITIVE_INFINITY,
      onEpochStart: begin,
    },
    {
      name: `${name}.end`,
      schedule: at({ epochs: epochs.map((epoch) => epoch + 1) }),
      priority: Number.NEGATIVE_INFINITY,
      onEpochEnd: end,
    },
    {
      name: `${name}.last`,
      onTrainingEnd: (context) => {
        sayMissed(context);
        // A run that ended within the epoch.
        return taking ? end(context) : undefined;
      },
    },
  ];
  return {
    name,
    children,
    onRegister: (host) => {
      warn = (text) => host.warn(`${name}: ${text}`);
      begun = undefined;
    },
    onUnregister: async () => {
      const left = taking;
      taking = undefined;
      await left?.session.end();
    },
  };
}

/** Whole or not at all. */
async function write(directory: string, name: string, profile: object): Promise<void> {
  await mkdir(directory, { recursive: true });
  const beside = join(directory, `${name}.${process.pid}.tmp`);
  await writeFile(beside, JSON.stringify(profile));
  await rename(beside, join(directory, name));
}
