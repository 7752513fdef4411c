import { messageOf, node, type Options, option, outputPath, resolveOptions } from "../../core/index.ts";
import { at } from "../../schedule/index.ts";
import type { TrainerContext, TrainerHook } from "../../trainer/index.ts";
import { replace } from "../health/heartbeat.ts";

const isIndex = (epoch: unknown): boolean =>
  typeof epoch === "number" && Number.isSafeInteger(epoch) && epoch >= 0;

const profilerOptions = {
  /** Default: `profiler`. */
  name: option.text({ default: "profiler" }),
  /** Indices of the epochs to profile: the first is 0. Default: `[1]`, because the first one also compiles. */
  epochs: option.made<readonly number[], { readonly default: readonly number[] }>(
    "a list of whole numbers, the first epoch being 0: [1]",
    (value) => Array.isArray(value) && value.length > 0 && value.every(isIndex),
    { default: [1] },
  ),
  /** Directory of the profiles, `epoch-1.cpuprofile`. */
  directory: option.text({ required: true }),
  /** Microseconds between samples. Default: 1000. */
  interval: option.integer({ min: 1, default: 1000 }),
};

/** Options of {@link profilerHook}. */
export interface ProfilerHookOptions extends Options<typeof profilerOptions> {}

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
  const settings = resolveOptions("profilerHook", options, profilerOptions);
  const { name, interval } = settings;
  const directory = outputPath(settings.directory);
  const epochs = [...new Set(settings.epochs)];
  let warn: (text: string) => void = () => undefined;
  let taking: { readonly epoch: number; readonly end: () => Promise<object> } | undefined;
  /** The last epoch that began. */
  let begun: number | undefined;

  /** Warns where something fails: a profile must not break training. */
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (cause) {
      warn(`${what}: ${messageOf(cause)}; training goes on`);
    }
  };
  const begin = ({ counters: { epoch } }: TrainerContext): Promise<void> =>
    attempt(`no profile of epoch ${epoch}`, async () => {
      begun = epoch;
      taking = { epoch, end: await beginProfile(`profilerHook "${name}"`, interval) };
    });
  const end = async ({ counters: { epoch } }: TrainerContext): Promise<void> => {
    const taken = taking;
    taking = undefined;
    if (taken)
      await attempt(`no profile of epoch ${taken.epoch}`, async () => {
        const profile = await taken.end();
        await replace(node.path.join(directory, `epoch-${taken.epoch}.cpuprofile`), profile);
      });
    else if (begun !== epoch && epochs.includes(epoch))
      warn(
        `no profile of epoch ${epoch}: it was begun by another process, and only whole epochs are profiled`,
      );
  };
  /** Warns of epochs that the run never came to. */
  const warnMissed = ({ counters: { epochs: completed } }: TrainerContext): void => {
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
        warnMissed(context);
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
      await left?.end();
    },
  };
}

/** The hook that takes a profile in this process: one at a time, or each would measure the other. */
let busy: string | undefined;

/**
 * Begins a CPU profile, and gives the function that ends it: the profile as V8 gives it, with the nodes of a call tree,
 * and which of them each sample found. Throws where another is being taken, or where this Node cannot.
 */
async function beginProfile(who: string, interval: number): Promise<() => Promise<object>> {
  if (busy !== undefined)
    throw new Error(`${busy} is taking a profile in this process, and two at once are none`);
  busy = who;
  try {
    const session = new node.inspector.Session();
    const post = (method: string, parameters: object = {}): Promise<unknown> =>
      new Promise((resolve, reject) => {
        session.post(method, parameters, (error, result) => (error ? reject(error) : resolve(result)));
      });
    session.connect();
    await post("Profiler.enable");
    await post("Profiler.setSamplingInterval", { interval });
    await post("Profiler.start");
    return async () => {
      try {
        return ((await post("Profiler.stop")) as { readonly profile: object }).profile;
      } finally {
        session.disconnect();
        busy = undefined;
      }
    };
  } catch (cause) {
    busy = undefined;
    throw cause;
  }
}
