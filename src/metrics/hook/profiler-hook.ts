import type { Session } from "node:inspector";
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
  let taking: { readonly epoch: number; readonly session: ProfilerSession } | undefined;
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
      taking = { epoch, session: await ProfilerSession.begin(`profilerHook "${name}"`, interval) };
    });
  const end = async ({ counters: { epoch } }: TrainerContext): Promise<void> => {
    const taken = taking;
    taking = undefined;
    if (taken)
      await attempt(`no profile of epoch ${taken.epoch}`, async () => {
        const profile = await taken.session.end();
        const { join } = node.path;
        await replace(join(directory, `epoch-${taken.epoch}.cpuprofile`), profile);
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
      await left?.session.end();
    },
  };
}

/** A CPU profile as V8 gives it: nodes of a call tree, and which of them each sample found. */
type CpuProfile = object;

/** The hook that takes a profile in this process: one at a time, or each would measure the other. */
let busy: string | undefined;

/** A CPU profile that is being taken. */
class ProfilerSession {
  readonly #session: Session;

  /** Begins a profile. Throws where another is being taken, or where this Node cannot. */
  static async begin(who: string, interval: number): Promise<ProfilerSession> {
    if (busy !== undefined)
      throw new Error(`${busy} is taking a profile in this process, and two at once are none`);
    busy = who;
    try {
      const inspector = node.inspector;
      const session = new inspector.Session();
      session.connect();
      const profiler = new ProfilerSession(session);
      await profiler.#post("Profiler.enable");
      await profiler.#post("Profiler.setSamplingInterval", { interval });
      await profiler.#post("Profiler.start");
      return profiler;
    } catch (cause) {
      busy = undefined;
      throw cause;
    }
  }

  private constructor(session: Session) {
    this.#session = session;
  }

  async end(): Promise<CpuProfile> {
    try {
      const { profile } = (await this.#post("Profiler.stop")) as { readonly profile: CpuProfile };
      return profile;
    } finally {
      this.#session.disconnect();
      busy = undefined;
    }
  }

  #post(method: string, parameters: object = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#session.post(method, parameters, (error, result) => (error ? reject(error) : resolve(result)));
    });
  }
}
