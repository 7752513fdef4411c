/**
 * The words of this room: what travels between a trainer and its rollout workers.
 *
 *     trainer                                   worker (worker.ts)
 *       publish(weights) ────────────────────▶    weights.receive()
 *                                                 lesson <- curriculum
 *                                                 generator.rollout(lesson)      text.ts, environments.ts
 *       take() ◀─────────────────────────────    rollouts.send(rollout)
 *       learns from it (task.ts)                  hooks: evaluation, logging, ...
 */
import { didYouMean, EspalierError, hasMethods, option } from "../core/index.ts";
import type { HostArray, Tensor } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import type { LessonResult } from "../rl/index.ts";
import type { Stateful } from "../state/index.ts";
import type { Settings } from "../trainer/index.ts";

/** An array on the host with its shape. */
export interface ShapedArray {
  readonly data: HostArray;
  readonly shape: readonly number[];
}

/** Arrays by name. */
export type NamedArrays = Readonly<Record<string, ShapedArray>>;

/** Parameters on the host, by their paths ("blocks.0.w"), and the trainer's step that they are of. */
export interface Weights {
  /** Updates of the trainer. Lower than before where a trainer went back to a checkpoint. */
  readonly id: number;
  readonly arrays: NamedArrays;
}

/** Results of a lesson's episodes: their number, mean return, and the share of them whose return is above 0. */
export type LessonScores = Omit<LessonResult, "lesson">;

/** The scores of episodes with these returns. */
export function scoresOf(returns: ArrayLike<number>): LessonScores {
  const all = Array.from(returns);
  const mean = (of: (one: number) => number): number =>
    all.reduce((sum, one) => sum + of(one), 0) / Math.max(1, all.length);
  return { episodes: all.length, return: mean((one) => one), positive: mean((one) => (one > 0 ? 1 : 0)) };
}

/** The same for a curriculum of these lessons. */
export function resultOf(lessons: readonly string[], lesson: string, scores: LessonScores): LessonResult {
  const { episodes, return: mean, positive } = scores;
  return { lesson: lessons.indexOf(lesson), episodes, return: mean, positive };
}

/** Results of an evaluation, and what the generator measures beside them. */
export interface EvaluatedScores extends LessonScores {
  readonly metrics?: Readonly<Record<string, number>>;
}

/** Experience that a worker made with one set of weights. */
export interface Rollout extends LessonScores {
  /** Unique in its run: the worker's name and a number. One that is delivered twice has the same. */
  readonly id: string;
  readonly worker: string;
  /** The weights that it was made with. */
  readonly weightId: number;
  readonly lesson: string;
  /**
   * The first axis of every array is that of its units, which are never torn apart in training: groups of samples of one
   * prompt, or a stretch of steps of one environment.
   */
  readonly arrays: NamedArrays;
  /** Further numbers of it, for logs: lengths, failures of rewards. */
  readonly metrics?: Readonly<Record<string, number>>;
}

/** The number of units of arrays. Refuses arrays that do not fill their shapes, and different numbers of units. */
export function unitsOf(what: string, arrays: NamedArrays | undefined): number | undefined {
  let units: number | undefined;
  for (const [name, array] of Object.entries(arrays ?? {})) {
    const { data, shape = [] } = (array as Partial<ShapedArray> | undefined) ?? {};
    const size = shape.reduce((product, length) => product * length, 1);
    units ??= shape[0];
    if (!ArrayBuffer.isView(data) || data.length !== size || shape.length === 0 || shape[0] !== units)
      throw new EspalierError(
        "ROLLOUT_INVALID",
        `${what}: "${name}" has ${data?.length} numbers and the shape [${shape.join(", ")}], of ${units} units`,
        { fix: "give { data: Float32Array.from(numbers), shape: [units, ...] }, all with as many units" },
      );
  }
  return units;
}

/** Arrays in plain values, as states have them. */
export const plainArrays = (arrays: NamedArrays) =>
  Object.fromEntries(
    Object.entries(arrays).map(([name, { data, shape }]) => [name, { data, shape: [...shape] }]),
  );

/** Makes rollouts and plays evaluations with the parameters that it was given last. */
export interface RolloutGenerator {
  readonly lessons: readonly string[];
  /** Takes parameters; refuses those of another shape with WEIGHTS_INVALID, and keeps the old ones. */
  setParams(params: Params<Tensor> | NamedArrays): void | Promise<void>;
  rollout(request: GeneratorRequest): Promise<Omit<Rollout, "id" | "worker" | "weightId" | "lesson">>;
  /** Plays `examples` episodes that training never sees, the most likely way; the same for the same key. */
  evaluate(request: GeneratorRequest & { readonly examples: number }): Promise<EvaluatedScores>;
  /** True for failures of a lesson in whose place a worker is to draw another: it tells of the error and counts it. */
  skips?(error: unknown, warn?: (text: string) => void): boolean;
  /** Options that decide its rollouts, in plain values: a run that is resumed must share them. */
  readonly settings?: Settings;
  /** Environments in the middle of episodes. Without it everything follows from the keys of requests. */
  readonly state?: Stateful;
  close?(): void | Promise<void>;
}

export const generatorRow = option.made<RolloutGenerator>(
  "a generator of rollouts: textRollouts({ ... })",
  (value) => hasMethods(value, ["setParams", "rollout", "evaluate"]) && Array.isArray(Object(value).lessons),
  {},
);

export function checkLesson(lesson: string, known: readonly string[]): void {
  if (known.includes(lesson)) return;
  throw new EspalierError(
    "LESSON_UNKNOWN",
    `the generator has no lesson "${lesson}"${didYouMean(lesson, known)}`,
    { fix: `the lessons are ${known.join(", ")}` },
  );
}

export interface GeneratorRequest {
  readonly lesson: string;
  /** All random numbers follow from it. */
  readonly key: Uint32Array;
  readonly signal: AbortSignal;
  /** Takes messages that do not end it. Default: standard error. */
  readonly warn?: (text: string) => void;
}

/** Where a worker gets its weights. */
export interface WeightSource {
  /**
   * The newest weights, where they are others than those received last; else undefined, at once. With `wait` it
   * resolves when there are some, or with undefined when the signal is aborted or the source is closed.
   */
  receive(options?: { readonly wait?: boolean; readonly signal?: AbortSignal }): Promise<Weights | undefined>;
}

/** Where a worker leaves its rollouts. */
export interface RolloutSink {
  /**
   * Resolves when the trainer's side has the rollout: from then on it is not lost with the worker. Waits while the queue
   * is full. Rejects with TRANSPORT_CLOSED where there is no trainer any more, and with the signal's reason when it is
   * aborted: it may have arrived then or not, and can be sent again, because an id counts once.
   */
  send(rollout: Rollout, options?: { readonly signal?: AbortSignal }): Promise<void>;
}

/** A worker's end of a transport. */
export interface WorkerLink extends WeightSource, RolloutSink {
  /** Ends what is under way as the end of the trainer does: receive gives undefined, send TRANSPORT_CLOSED. */
  close(): Promise<void>;
}

/** Counts of a transport, from its beginning. */
export interface TransportStats {
  /** Rollouts that were accepted, taken by the trainer, are waiting now, and came twice. */
  readonly accepted: number;
  readonly taken: number;
  readonly queued: number;
  readonly duplicates: number;
  /** Workers now, and those that were replaced after they died. */
  readonly workers: number;
  readonly replaced: number;
}

/** The trainer's end of a transport: in-process (transport.ts), worker processes (processes.ts), or a cluster. */
export interface Transport {
  /**
   * Gives weights to all workers, those that come later included. The newest count, whatever their id. Arrays are not
   * to be changed afterwards.
   */
  publish(weights: Weights): Promise<void>;
  /**
   * The next rollout, each once, in order of arrival; waits for one. Undefined when the signal is aborted or it is
   * closed. Rejects where no worker can send one any more: WORKER_FAILED, WORKERS_ENDED.
   */
  take(options?: { readonly signal?: AbortSignal }): Promise<Rollout | undefined>;
  readonly stats: TransportStats;
  /** What has to go on when a run is resumed, such as numbers in workers' names. A task saves it with its own state. */
  readonly state?: Stateful;
  close(): Promise<void>;
}
