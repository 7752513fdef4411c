import { badOption, checkNames, checkSize, shown } from "../../core/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { ReplayRecord } from "../../trainer/index.ts";
import { writeReplay } from "../replays/files.ts";
import type { Replay } from "../replays/replay.ts";
import type { PlayedEpisode } from "./episode.ts";

/** What of evaluations is recorded. */
export interface ReplayOptions {
  /** Where recorded episodes are kept. */
  readonly directory: string;
  /** Recorded at every so many evaluations, from the first on. Default 1. */
  readonly every?: number;
  /** How many episodes of each suite: the first ones. Default 1. */
  readonly episodes?: number;
}

/** An episode that was recorded. Plain data. */
export interface RecordedEpisode {
  readonly suite: string;
  readonly episode: number;
  readonly replay: Replay;
}

export function checkReplays(kind: string, replays: ReplayOptions): void {
  const what = `${kind}: replays`;
  checkNames(what, replays, ["directory", "every", "episodes"]);
  const { directory } = replays;
  if (typeof directory !== "string" || directory === "")
    throw badOption(what, `directory is ${shown(directory)}`, 'give a directory: "runs/replays"');
  if (replays.every !== undefined) checkSize(what, "every", replays.every);
  if (replays.episodes !== undefined) checkSize(what, "episodes", replays.episodes);
}

/** Records the first so many episodes of each suite. */
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

/** Files recorded episodes, named after the step, the suite and their number. */
export async function writeRecorded(
  { directory }: ReplayOptions,
  recorded: readonly RecordedEpisode[],
  { counters, run }: { readonly counters: Counters; readonly run: string },
): Promise<readonly ReplayRecord[]> {
  const { steps } = counters;
  const written: ReplayRecord[] = [];
  // They came as they ended.
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
