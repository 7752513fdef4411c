import { badOption, checkNames, checkSize, shown } from "../../core/index.ts";

/** Options of {@link profilerHook}. */
export interface ProfilerHookOptions {
  /** Default `profiler`. */
  readonly name?: string;
  /** The epochs to profile, by their index: the first is 0. Default `[1]`, because the first one also compiles. */
  readonly epochs?: readonly number[];
  /** Where profiles go, as `epoch-1.cpuprofile`. */
  readonly directory: string;
  /** Microseconds between samples. Default 1000. */
  readonly interval?: number;
}

/** The options with everything filled in. */
export type ProfilerPlan = Required<ProfilerHookOptions>;

const kind = "profilerHook";

/** Completes and checks what the hook is made with. */
export function planOf(options: ProfilerHookOptions): ProfilerPlan {
  checkNames(kind, options, ["name", "epochs", "directory", "interval"]);
  const { name = "profiler", epochs = [1], directory } = options;
  const interval = checkSize(kind, "interval", options.interval ?? 1000);
  if (typeof directory !== "string" || directory === "")
    throw badOption(kind, `directory is ${shown(directory)}`, 'say where profiles go: directory: "profiles"');
  if (!Array.isArray(epochs) || epochs.length === 0 || !epochs.every(isIndex))
    throw badOption(
      kind,
      `epochs is ${shown(epochs)}`,
      "give a list of whole numbers, the first epoch being 0: epochs: [1]",
    );
  return { name, epochs: [...new Set(epochs)], directory, interval };
}

const isIndex = (epoch: unknown): boolean =>
  typeof epoch === "number" && Number.isSafeInteger(epoch) && epoch >= 0;
