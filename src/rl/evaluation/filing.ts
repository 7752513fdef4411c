import { type Clock, EspalierError } from "../../core/index.ts";
import type { StatsStore } from "../../metrics/index.ts";
import type { SuiteResult } from "./scores.ts";

/** An evaluation as it is filed. */
export interface FiledEvaluation {
  readonly step: number;
  readonly results: readonly SuiteResult[];
  /** The address of the checkpoint that was evaluated. */
  readonly checkpoint?: string | undefined;
}

/** Files an evaluation of a run: a row for each suite, and for each episode where that is asked for. */
export async function fileEvaluation(
  store: StatsStore,
  run: string,
  { step, results, checkpoint }: FiledEvaluation,
  { clock, episodes }: { readonly clock: Pick<Clock, "wall">; readonly episodes: boolean },
): Promise<void> {
  const wall = clock.wall();
  const of = checkpoint === undefined ? {} : { checkpoint };
  if (episodes)
    await store.add(
      run,
      "episode",
      results.flatMap(({ suite, episodes }) =>
        episodes.map(({ return: total, length, terminated, lesson, seed }) => ({
          ...{ step, return: total, length, wall },
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

/**
 * The id of a run in a stats store, by its id or its name. Where the store does not know it, it is begun there: somebody
 * files what evaluations find before, or without, anything else of the run.
 */
export async function runIn(
  store: StatsStore,
  idOrName: string,
  clock: Pick<Clock, "wall">,
): Promise<string> {
  try {
    return (await store.run(idOrName)).id;
  } catch (error) {
    if (!(error instanceof EspalierError) || error.code !== "STATS_UNKNOWN_RUN") throw error;
  }
  const id = idOrName.replace(/[^\w-]+/g, "-") || "run";
  await store.startRun({ id, name: idOrName, startedAt: clock.wall(), config: null });
  return id;
}
