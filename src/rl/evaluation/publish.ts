import { type Clock, codeOf, type Options, option } from "../../core/index.ts";
import type { StatsStore } from "../../metrics/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { ReplayRecord } from "../../trainer/index.ts";
import { writeReplay } from "../replays/files.ts";
import type { Replay } from "../replays/replay.ts";
import type { PlayedEpisode } from "./play.ts";
import type { SuiteResult } from "./suites.ts";

export const replayTable = {
  /** Directory of the recorded episodes; for `remote` also the address of a store. Default: `replays`. */
  directory: option.text({ default: "replays", doc: "Directory of the recorded episodes." }),
  /** Every how many evaluations episodes are recorded, from the first on. Default: 1. */
  every: option.integer({ min: 1, default: 1, doc: "Every how many evaluations episodes are recorded." }),
  /** How many episodes of each suite: the first ones. Default: 1. */
  episodes: option.integer({ min: 1, default: 1, doc: "How many episodes of each suite." }),
};

/** Options of the replays that evaluations record. */
export interface ReplayOptions extends Options<typeof replayTable> {}

/** An episode that was recorded. Plain data. */
export interface RecordedEpisode {
  readonly suite: string;
  readonly episode: number;
  readonly replay: Replay;
}

/** Records the first `count` episodes of each suite. */
export function episodeRecorder(count: number): {
  readonly record: (suite: string, start: PlayedEpisode) => ((replay: Replay) => void) | undefined;
  /** Those that have ended. */
  readonly episodes: readonly RecordedEpisode[];
} {
  const episodes: RecordedEpisode[] = [];
  return {
    episodes,
    record: (suite, { episode }) =>
      episode < count ? (replay) => void episodes.push({ suite, episode, replay }) : undefined,
  };
}

/** Writes recorded episodes, named after the step, the suite and their number. */
export async function writeRecorded(
  directory: string,
  recorded: readonly RecordedEpisode[],
  counters: Counters,
  run: string,
): Promise<readonly ReplayRecord[]> {
  const { steps } = counters;
  const written: ReplayRecord[] = [];
  // They are in the order in which they ended.
  const suites = [...new Set(recorded.map(({ suite }) => suite))];
  const inOrder = [...recorded].sort(
    (a, b) => suites.indexOf(a.suite) - suites.indexOf(b.suite) || a.episode - b.episode,
  );
  for (const { suite, episode, replay } of inOrder) {
    const about = { ...replay.about, run, suite, step: steps };
    const name = `step-${String(steps).padStart(9, "0")}-${suite}-${episode}`;
    const { path, uri } = await writeReplay(directory, { ...replay, about }, { name });
    written.push({ path, uri, counters });
  }
  return written;
}

/** Inserts an evaluation of a run: a row for each suite, and for each episode if `episodes` is true. */
export async function insertEvaluation(
  store: StatsStore,
  run: string,
  {
    step,
    results,
    checkpoint,
  }: {
    readonly step: number;
    readonly results: readonly (Pick<SuiteResult, "suite" | "scores"> & Partial<SuiteResult>)[];
    /** The address of the checkpoint that was evaluated. */
    readonly checkpoint?: string;
  },
  { clock, episodes }: { readonly clock: Pick<Clock, "wall">; readonly episodes: boolean },
): Promise<void> {
  const wall = clock.wall();
  const of = checkpoint === undefined ? {} : { checkpoint };
  if (episodes)
    await store.add(
      run,
      "episode",
      results.flatMap(({ suite, episodes = [] }) =>
        episodes.map(({ return: total, length, terminated, lesson, seed }) => ({
          step,
          return: total,
          length,
          wall,
          info: { suite, terminated, lesson, seed, ...of },
        })),
      ),
    );
  await store.add(
    run,
    "evaluation",
    results.map(({ suite, scores }) => ({ step, name: suite, scores, wall, ...of })),
  );
}

/** The id of a run in a stats store, by its id or its name. A run that the store does not know is started there. */
export async function openRun(
  store: StatsStore,
  idOrName: string,
  clock: Pick<Clock, "wall">,
): Promise<string> {
  try {
    return (await store.run(idOrName)).id;
  } catch (error) {
    if (codeOf(error) !== "STATS_UNKNOWN_RUN") throw error;
  }
  const id = idOrName.replace(/[^\w-]+/g, "-") || "run";
  await store.startRun({ id, name: idOrName, startedAt: clock.wall(), config: null });
  return id;
}
