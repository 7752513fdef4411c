import type { Counters } from "../../schedule/index.ts";
import { evaluationScores, latestReplay, type TrainerContext } from "../../trainer/index.ts";
import type { EvaluationPlan } from "./evaluation-options.ts";
import { fileEvaluation, runIn } from "./filing.ts";
import { type RecordedEpisode, writeRecorded } from "./replays.ts";
import { allScores, type SuiteResult } from "./scores.ts";

/** What an evaluation found, and of what. */
export interface Evaluated {
  readonly results: readonly SuiteResult[];
  /** The counters of the state that was evaluated. */
  readonly counters: Counters;
  readonly recorded?: readonly RecordedEpisode[];
}

/** What of a context is needed to tell. In the background `log` does nothing: it would log under a later step. */
export type Telling = Pick<TrainerContext, "slots" | "log" | "clock" | "state">;

/** Tells everybody who wants to know: slots, metrics, stats store, replays. */
export class Delivery {
  readonly #plan: EvaluationPlan;
  /** The run's id in the stats store. */
  #run: string | undefined;

  constructor(plan: EvaluationPlan) {
    this.#plan = plan;
  }

  async tell(context: Telling, { results, counters, recorded = [] }: Evaluated): Promise<void> {
    const { primary, store, fileEpisodes = false, replays } = this.#plan;
    const { slots, clock } = context;
    const scores = allScores(results);
    // Metrics hear of the slot; where another hook provides it, this one logs for itself.
    if (primary) slots.set(evaluationScores, { scores, counters });
    else context.log(scores, "evaluation");
    const written = replays
      ? await writeRecorded(replays, recorded, { counters, run: context.state.run })
      : [];
    // Metrics file what they hear of, one replay after the other.
    if (primary) for (const replay of written) slots.set(latestReplay, replay);
    if (!store) return;
    const run = await this.#runIn(store, context);
    await fileEvaluation(store, run, { step: counters.steps, results }, { clock, episodes: fileEpisodes });
    const wall = clock.wall();
    const rows = written.map(({ path, uri }) => ({
      step: counters.steps,
      path,
      uri: uri ?? undefined,
      wall,
    }));
    if (rows.length > 0) await store.add(run, "replay", rows);
  }

  async #runIn(
    store: NonNullable<EvaluationPlan["store"]>,
    { clock, state }: Pick<Telling, "clock" | "state">,
  ): Promise<string> {
    this.#run ??= await runIn(store, this.#plan.run ?? state.run, clock);
    return this.#run;
  }
}
