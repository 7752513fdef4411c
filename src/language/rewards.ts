/**
 * Rewards of generated texts, by functions of the user that may fail in every way:
 *
 *     scoreAll(samples, reward, { timeout, onFailure })
 *       a function            called for every sample, all at once; a promise has `timeout` to settle
 *       { module, name }      called on worker threads, one sample at a time each     reward-thread.ts
 *                             a thread that hangs is ended, and another takes its place
 *       number               -> rewards[i]
 *       throws, hangs        -> REWARD_FAILED  ┐ thrown, or counted: the reward is 0,
 *       NaN, no number       -> REWARD_INVALID ┘ or the sample is dropped
 */
import {
  badOption,
  checkOptions,
  codeOf,
  EspalierError,
  errorText,
  inTime,
  Late,
  messageOf,
  type Options,
  option,
  resolveOptions,
  shown,
  ThreadCalls,
} from "../core/index.ts";
import { startThread } from "../engine/index.ts";
import { moduleUrl } from "../rl/index.ts";
import { checkedReward, type RewardThreadData } from "./reward-thread.ts";

/** A text that a model made for a problem. */
export interface TextSample {
  readonly lesson: string;
  readonly prompt: string;
  readonly answer?: string;
  readonly data?: unknown;
  /** The model's text, without the prompt and the stop. */
  readonly text: string;
  readonly tokens: Int32Array;
}

/** Judges a sample: a function, or one that threads import. */
export type TextReward = ((sample: TextSample) => number | Promise<number>) | RewardModule;

/** Rewards of samples, in their order. */
export interface TextScores {
  /** 0 where a reward failed. */
  readonly rewards: Float32Array;
  /** 1 where a sample is to be left out. */
  readonly dropped: Uint8Array;
  /** Samples whose reward failed. */
  readonly failures: number;
  /** The first failure, in the order of samples. */
  readonly failure?: EspalierError;
}

/** Milliseconds, as timers take them. */
export const milliseconds = { above: 0, max: 2 ** 31 - 1 } as const;
export const abortSignal = option.made<AbortSignal>("a signal", (value) => value instanceof AbortSignal, {});

const kind = "scoreAll";
const scoreTable = {
  /** Milliseconds that an asynchronous function or a thread has for one sample. Default: 10000. */
  timeout: option.number({ ...milliseconds, default: 10_000 }),
  /** Throws, gives a reward of 0, or leaves the sample out. Default: "error". */
  onFailure: option.oneOf(["error", "zero", "drop"], { default: "error" }),
  signal: abortSignal,
};

const moduleTable = {
  /** The file's URL, such as `import.meta.url`, or its absolute path. */
  module: option.text({ required: true }),
  /** The function's name there: `(sample: TextSample) => number | Promise<number>`. */
  name: option.text({ required: true }),
  /** Milliseconds for one sample. Default: that of {@link scoreAll}. */
  timeout: option.number(milliseconds),
  /** Threads that judge samples beside each other. Default: 1. */
  threads: option.integer({ min: 1, max: 64 }),
};

/** A reward function that worker threads import: it may take long, or hang, and training goes on. */
export interface RewardModule extends Options<typeof moduleTable> {}

/** 1 where the text is the answer, otherwise 0: the reward of lessons without one. */
export const exactAnswer = ({ text, answer }: TextSample): number => (text === answer ? 1 : 0);

/**
 * Rewards of all samples. A reward that throws, hangs or is no finite number is an error with lesson and sample, or is
 * counted, as `onFailure` says.
 *
 * @example
 * ```ts
 * const { rewards, failures } = await scoreAll(samples, ({ text }) => -text.length, { onFailure: "zero" });
 * ```
 */
export async function scoreAll(
  samples: readonly TextSample[],
  reward: TextReward = exactAnswer,
  options: Options<typeof scoreTable> = {},
): Promise<TextScores> {
  const { timeout, onFailure, signal } = resolveOptions(kind, options, scoreTable);
  if (typeof reward === "object" && reward !== null) {
    checkOptions("reward", reward, moduleTable);
    moduleUrl("reward", "module", reward.module);
  } else if (typeof reward !== "function")
    throw badOption("reward", `it is ${shown(reward)}`, "give a function, or { module, name } of one");
  signal?.throwIfAborted();
  const limit = typeof reward === "function" ? timeout : (reward.timeout ?? timeout);
  const rewards = new Float32Array(samples.length);
  const dropped = new Uint8Array(samples.length);
  const failed: EspalierError[] = [];
  const score = async (i: number, judge: (sample: TextSample) => unknown): Promise<void> => {
    const sample = samples[i] as TextSample;
    try {
      rewards[i] = checkedReward(await judge(sample));
    } catch (cause) {
      if (codeOf(cause) === "REWARD_MODULE") throw cause;
      const where = `lesson "${sample.lesson}", sample ${i} (prompt ${shown(sample.prompt)}, text ${shown(sample.text)})`;
      const words = failureText(cause);
      const fix =
        'correct the reward function, or count such samples: onFailure (onRewardFailure of textRollouts): "zero" or "drop"';
      const error =
        codeOf(cause) === "REWARD_INVALID"
          ? new EspalierError("REWARD_INVALID", `${where}: the reward ${words}`, { fix, cause })
          : new EspalierError("REWARD_FAILED", `${where}: the reward failed: ${words}`, { fix, cause });
      if (onFailure === "error") throw error;
      failed[i] = error;
      dropped[i] = onFailure === "drop" ? 1 : 0;
    }
  };
  const work =
    typeof reward === "function"
      ? Promise.all(samples.map((_, i) => score(i, (sample) => inTime(reward(sample), limit))))
      : scoreOnThreads(samples.length, reward, limit, signal, score);
  await inTime<unknown>(work, undefined, signal);
  const [failure] = Object.values(failed);
  return { rewards, dropped, failures: Object.keys(failed).length, ...(failure && { failure }) };
}

export const failureText = (cause: unknown): string =>
  cause instanceof EspalierError ? errorText(cause) : messageOf(cause);

type RewardThread = ThreadCalls<TextSample | undefined, number | undefined>;

/** Threads that wait for the next samples, by their function. */
const idle = new Map<string, RewardThread[]>();

const startLimit = 60_000;

/** Judges samples 0 to `count` on threads; each takes the next one when it is free. */
async function scoreOnThreads(
  count: number,
  reward: RewardModule,
  timeout: number,
  signal: AbortSignal | undefined,
  score: (i: number, judge: (sample: TextSample) => unknown) => Promise<void>,
): Promise<void> {
  const key = JSON.stringify([reward.module, reward.name]);
  const free = idle.get(key) ?? [];
  idle.set(key, free);
  let next = 0;
  const lane = async (): Promise<void> => {
    let thread: RewardThread | undefined;
    const judge = async (sample: TextSample): Promise<unknown> => {
      while (!thread || thread.ended) thread = free.pop() ?? (await readyThread(reward));
      return answerOf(thread, sample, timeout, signal);
    };
    try {
      while (next < count && !signal?.aborted) await score(next++, judge);
    } finally {
      next = count; // Where this failed, the other lanes end with the sample they have.
      if (thread && !thread.ended) free.push(thread);
    }
  };
  await Promise.all(Array.from({ length: Math.min(reward.threads ?? 1, count) }, lane));
}

/** A thread that has imported the function. Where that fails, every sample would. */
async function readyThread({ module, name }: RewardModule): Promise<RewardThread> {
  let thread: RewardThread | undefined;
  try {
    const url = moduleUrl("reward", "module", module).href;
    const data: RewardThreadData = { module: url, name };
    const started = { name: "espalier-reward", data, imports: [url] };
    thread = new ThreadCalls(startThread("language/reward-thread", started));
    await answerOf(thread, undefined, startLimit);
    return thread;
  } catch (cause) {
    void thread?.terminate();
    throw new EspalierError("REWARD_MODULE", `the reward's module ${module} failed: ${failureText(cause)}`, {
      fix: `export a function ${name}(sample) from that file`,
      cause,
    });
  }
}

/** A thread's answer about a sample. Without one in time the thread is ended. */
function answerOf(
  thread: RewardThread,
  sample: TextSample | undefined,
  timeout: number,
  signal?: AbortSignal,
): Promise<unknown> {
  return inTime(thread.make(sample), timeout, signal).catch((error: unknown) => {
    if (error instanceof Late || signal?.aborted) void thread.terminate();
    throw error;
  });
}
