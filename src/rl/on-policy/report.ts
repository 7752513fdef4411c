import { read, type Tensor } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import { type Report, type RolloutStats, rolloutStats, type TrainerHook } from "../../trainer/index.ts";
import type { Curriculum, LessonResult } from "../curriculum/curriculum.ts";
import type { UpdateEpochs } from "../experience/update-epochs.ts";
import type { EpisodeEnd } from "../vector/vector.ts";
import type { CallResult, Chunk } from "./collect.ts";

/** Reports a call to the trainer. The curriculum hears of its episodes first; `tell` of its last rollout. */
export function reportOf(
  result: CallResult,
  chunks: readonly Chunk[],
  curriculum: Curriculum | undefined,
  tell: (metrics: Readonly<Record<string, number>>) => void,
): Report | Promise<Report> {
  const rollouts = chunks.reduce((sum, chunk) => sum + chunk.rollouts, 0);
  const updates = chunks.reduce((sum, chunk) => sum + chunk.count, 0);
  const { applied, ...metrics } = result.metrics;
  // A program has outputs for both phases: those of a phase that was not in the call are left out.
  const report: Report =
    updates === 0
      ? { metrics: result.rollout }
      : {
          metrics,
          ...(applied && { applied }),
          ...(result.nonFinite && { nonFinite: result.nonFinite }),
          ...(rollouts > 0 && { rollout: result.rollout }),
        };
  if (rollouts === 0) return report;
  const { counted } = result;
  if (counted) {
    tell(counted.metrics);
    if (counted.lessons.length > 0) curriculum?.trained(counted.lessons);
    return { ...report, counted: { episodes: counted.episodes } };
  }
  const names = Object.keys(result.rollout);
  return read({
    rollout: result.rollout,
    ...(result.fault && { fault: result.fault.found }),
    ...(result.lessons && curriculum && { lessons: result.lessons }),
  }).then((found) => {
    for (let i = 0; i < rollouts && found.fault; i++) {
      const code = found.fault[i] as number;
      if (code >= 0) throw result.fault?.error(i, code);
    }
    if (curriculum && found.lessons) curriculum.trained(lessonsIn(found.lessons, curriculum.lessons.length));
    const numbers = found.rollout;
    tell(Object.fromEntries(names.map((name) => [name, numbers[name]?.[rollouts - 1] as number])));
    return { ...report, counted: { episodes: numbers.episodes as ArrayLike<number> } };
  });
}

/** The last rollout's episodes by lesson, of [rollouts, lessons, 3]. */
function lessonsIn(sums: ArrayLike<number>, lessons: number): readonly LessonResult[] {
  return Array.from({ length: lessons }, (_, lesson) => {
    const at = (i: number): number => sums[lesson * 3 + i] as number;
    return { lesson, episodes: at(0), return: at(1) / at(0), positive: at(2) / at(0) };
  }).filter(({ episodes }) => episodes > 0);
}

/** Metrics of the episodes that ended in a rollout: their number, and means; NaN without any. */
export const episodeMetrics = (ended: readonly EpisodeEnd[]): Readonly<Record<string, number>> => ({
  episodes: ended.length,
  "episode.return": meanOf(ended, (end) => end.return),
  "episode.length": meanOf(ended, (end) => end.length),
});

/** Metrics of the numbers in the `info` of steps. */
export const infoMetrics = (infos: Readonly<Record<string, number>> = {}): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(infos).map(([name, mean]) => [`info.${name}`, mean]));

/** Ended episodes by lesson. */
export function lessonResults(ended: readonly EpisodeEnd[]): readonly LessonResult[] {
  const byLesson = new Map<number, EpisodeEnd[]>();
  for (const end of ended) byLesson.set(end.lesson, [...(byLesson.get(end.lesson) ?? []), end]);
  return [...byLesson]
    .sort(([a], [b]) => a - b)
    .map(([lesson, ends]) => ({
      lesson,
      episodes: ends.length,
      return: meanOf(ends, (end) => end.return),
      positive: meanOf(ends, (end) => (end.return > 0 ? 1 : 0)),
    }));
}

const meanOf = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0) / items.length;

/**
 * Provides the metrics of the last rollout in the slot `rolloutStats`. The hook sets it when a call of the task is over
 * and watches nothing, so it never prevents fusing: at every event that a hook handles, the slot holds the rollout
 * before it, however the work is cut.
 */
export class RolloutStatsSlot {
  #latest: RolloutStats | undefined;
  readonly hook: TrainerHook = {
    name: "rolloutStats",
    provides: [rolloutStats],
    ranks: "all",
    onBatchesEnd: ({ slots }) => {
      if (this.#latest) slots.set(rolloutStats, this.#latest);
      this.#latest = undefined;
    },
  };

  /** Takes the metrics of a rollout. Those that are not finite are left out: means of no episodes. */
  set(metrics: Readonly<Record<string, number>>): void {
    const finite = Object.entries(metrics).filter(([, value]) => Number.isFinite(value));
    // In single precision, as metrics are.
    this.#latest = Object.fromEntries(finite.map(([name, value]) => [name, Math.fround(value)]));
  }
}

/** Shows a tuner of update epochs the means over all updates from a rollout, however these were cut into calls. */
export class TunerWatch implements Stateful {
  /** The state has as many numbers as updates were done of the present rollout. */
  readonly varies = true;
  readonly #tuner: UpdateEpochs;
  #found: { readonly kl: number[]; readonly clipFraction: number[] } = { kl: [], clipFraction: [] };
  /** Metrics of calls that have not been read yet. */
  #unread: { readonly kl: Tensor; readonly clipFraction: Tensor; readonly count: number }[] = [];
  /** The present epoch, by the samples it began with, and its update epochs. */
  #epoch = { samples: -1, updateEpochs: 0 };

  constructor(tuner: UpdateEpochs) {
    this.#tuner = tuner;
  }

  /** The update epochs of an epoch: the same answer for as long as it lasts. */
  updateEpochs({ samples }: Counters): number {
    if (this.#epoch.samples !== samples) this.#epoch = { samples, updateEpochs: this.#tuner.epochs };
    return this.#epoch.updateEpochs;
  }

  /** Adds the first `count` updates; those without the policy's loss are ignored. */
  add(metrics: Readonly<Record<string, Tensor>>, count: number): void {
    const { "policy.approxKl": kl, "policy.clipFraction": clipFraction } = metrics;
    if (kl && clipFraction) this.#unread.push({ kl, clipFraction, count });
  }

  /** The rollout's updates are done. */
  async end(): Promise<void> {
    await this.#readAll();
    const { kl, clipFraction } = this.#found;
    const self = (x: number): number => x;
    if (kl.length > 0)
      this.#tuner.observe({ kl: meanOf(kl, self), clipFraction: meanOf(clipFraction, self) });
    this.#found = { kl: [], clipFraction: [] };
  }

  async #readAll(): Promise<void> {
    const unread = this.#unread;
    this.#unread = [];
    for (const { count, ...tensors } of unread) {
      const numbers = await read(tensors);
      this.#found.kl.push(...numbers.kl.subarray(0, count));
      this.#found.clipFraction.push(...numbers.clipFraction.subarray(0, count));
    }
  }

  async getState(): Promise<StateTree> {
    await this.#readAll();
    const { kl, clipFraction } = this.#found;
    return {
      tuner: await this.#tuner.getState(),
      epoch: { ...this.#epoch },
      kl: Float32Array.from(kl),
      clipFraction: Float32Array.from(clipFraction),
    };
  }

  setState(state: StateTree): void {
    const { tuner, epoch, kl, clipFraction } = state as Readonly<Record<string, StateTree>>;
    void this.#tuner.setState(tuner as StateTree);
    this.#epoch = { ...(epoch as { readonly samples: number; readonly updateEpochs: number }) };
    this.#found = { kl: [...(kl as Float32Array)], clipFraction: [...(clipFraction as Float32Array)] };
    this.#unread = [];
  }
}
