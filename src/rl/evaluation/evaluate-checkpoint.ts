import { type Checkpoint, type Manifest, openCheckpoint, uriOf } from "../../checkpoint/index.ts";
import { codeOf, EspalierError, systemClock } from "../../core/index.ts";
import { openStatsStore } from "../../metrics/index.ts";
import { RandomStreams } from "../../random/index.ts";
import { type EnvironmentSource, environmentMaker, spacesOf } from "../environments/registry.ts";
import type { PolicySpaces } from "../policies/policy.ts";
import { type DescribedPlayer, describedIn, playerIn } from "./player.ts";
import type { EvaluationJob, EvaluationOutcome } from "./process-queue.ts";
import { episodeRecorder, insertEvaluation, openRun, writeRecorded } from "./publish.ts";
import {
  checkSuites,
  type EvaluateOptions,
  evaluateSuites,
  type SuiteResult,
  type Suites,
  suitesOf,
} from "./suites.ts";

/** Options of {@link evaluateCheckpoint}. */
export interface CheckpointEvaluationOptions
  extends Pick<
    EvaluateOptions,
    "deterministic" | "engine" | "vectorCount" | "maxLength" | "signal" | "record"
  > {
  /** Default: the environment of the run. */
  readonly env?: EnvironmentSource;
  /** Suites, or `lessons`: one for each lesson of the environment. Default: one suite named after the environment. */
  readonly suites?: Suites | "lessons";
  /** Episodes of each suite. Default: 10. */
  readonly episodes?: number;
  /** Default: the seed of the run's own evaluations, which follows from the run's seed. */
  readonly seed?: number;
  /** A stats store for the scores, under the checkpoint's step: a SQLite file or a postgres:// URL. */
  readonly store?: string;
  /** The run's id or name there. Default: the name of the checkpoint's run. */
  readonly run?: string;
}

/** The results of a checkpoint. */
export interface CheckpointEvaluation {
  readonly path: string;
  readonly uri: string;
  readonly manifest: Manifest;
  readonly results: readonly SuiteResult[];
}

/**
 * Evaluates a checkpoint by its address: a path, a `file:` URI or `s3://bucket/prefix`; of a directory of checkpoints the
 * newest complete one. Policy and environment are those that the run's settings describe in its manifest.
 *
 * @example
 * ```ts
 * const { results } = await evaluateCheckpoint("runs/cartpole", { episodes: 100 });
 * console.log(results[0]?.scores.return);
 * ```
 */
export async function evaluateCheckpoint(
  address: string,
  options: CheckpointEvaluationOptions = {},
): Promise<CheckpointEvaluation> {
  const { episodes = 10, seed, suites, env, store, run, ...rest } = options;
  const checkpoint = await openCheckpoint(address);
  const { path, manifest } = checkpoint;
  const described = describedIn(checkpoint);
  const played = checkSuites(
    "evaluateCheckpoint",
    suites === undefined || suites === "lessons"
      ? await ownSuites(checkpoint, env ?? described.environment, suites)
      : suites,
  );
  const { player, state } = await playerIn(checkpoint, described, await spacesFor(described, played));
  const results = await evaluateSuites({
    ...rest,
    player,
    state,
    suites: played,
    episodes,
    seed: seed ?? evaluationSeed(described.seed),
  });
  const uri = uriOf(path);
  if (store !== undefined) {
    const opened = await openStatsStore(store);
    try {
      const id = await openRun(opened, run ?? manifest.run, systemClock);
      const evaluation = { step: manifest.counters.steps, results, checkpoint: uri };
      await insertEvaluation(opened, id, evaluation, { clock: systemClock, episodes: false });
    } finally {
      await opened.close();
    }
  }
  return { path, uri, manifest, results };
}

/** Evaluates the checkpoint of a job and writes the replays that it asks for. Its scores are filed by others. */
export async function evaluateJob(
  { checkpoint, suites, episodes, seed, deterministic, replays, counters, run }: EvaluationJob,
  options: Pick<EvaluateOptions, "engine" | "signal"> = {},
): Promise<Required<Pick<EvaluationOutcome, "results" | "replays">>> {
  const recorder = episodeRecorder(replays?.episodes ?? 0);
  const { record } = recorder;
  const { results } = await evaluateCheckpoint(checkpoint, {
    suites,
    episodes,
    seed,
    deterministic,
    record,
    ...options,
  });
  return {
    results: results.map(({ suite, scores }) => ({ suite, scores })),
    replays: replays ? await writeRecorded(replays.to, recorder.episodes, counters, run) : [],
  };
}

/** The seed of a run's evaluations: of a stream of their own, which moves no other. */
export const evaluationSeed = (seed: number): number => new RandomStreams(seed).get("evaluation").seed();

async function ownSuites(
  { path }: Checkpoint,
  env: EnvironmentSource | undefined,
  suites: "lessons" | undefined,
): Promise<Suites> {
  if (env === undefined)
    throw new EspalierError("ENVIRONMENT_MISSING", `the settings of ${path} name no environment`, {
      fix: "name it: { env }, or --env NAME of espalier evaluate, with --module FILE if it is your own",
    });
  const make = await environmentMaker(env);
  if (suites === "lessons") return suitesOf(env, make());
  return { [typeof env === "string" ? env : env.name || make().name]: { env } };
}

/** The policy's spaces: from the run's settings, else from its environment, or from the suites' if that is unknown here. */
async function spacesFor({ spaces, environment }: DescribedPlayer, suites: Suites): Promise<PolicySpaces> {
  if (spaces) return spaces;
  const [first] = Object.values(suites);
  const sources = [environment, first?.env].filter((source) => source !== undefined);
  for (const [i, source] of sources.entries())
    try {
      return await spacesOf(source);
    } catch (error) {
      const unknown = codeOf(error) === "ENVIRONMENT_UNKNOWN";
      if (!unknown || i === sources.length - 1) throw error;
    }
  throw new EspalierError("ENVIRONMENT_MISSING", "there is no environment to evaluate on");
}
