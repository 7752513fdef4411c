import { pathToFileURL } from "node:url";
import { type Checkpoint, type Manifest, openCheckpoint } from "../../checkpoint/index.ts";
import { EspalierError, systemClock } from "../../core/index.ts";
import { openStatsStore } from "../../metrics/index.ts";
import { RandomStreams } from "../../random/index.ts";
import { type EnvironmentSource, environmentMaker, spacesOf } from "../environments/registry.ts";
import type { PolicySpaces } from "../policies/policy.ts";
import { type Described, describedIn, pathOf, playerIn } from "./described.ts";
import { type EvaluateOptions, evaluateSuites } from "./evaluate-suites.ts";
import { fileEvaluation, runIn } from "./filing.ts";
import type { SuiteResult } from "./scores.ts";
import { checkSuites, type Suites, suitesOf } from "./suites.ts";

/** Options of {@link evaluateCheckpoint}. */
export interface CheckpointEvaluationOptions
  extends Pick<
    EvaluateOptions,
    "deterministic" | "engine" | "vectorCount" | "maxLength" | "signal" | "record"
  > {
  /** Default: that of the run. */
  readonly environment?: EnvironmentSource;
  /** Suites, or `lessons`: one for each lesson of the environment. Default: the environment in one suite of its name. */
  readonly suites?: Suites | "lessons";
  /** Episodes of each suite. Default 10. */
  readonly episodes?: number;
  /** Default: as the run's own evaluations have it, from the run's seed. */
  readonly seed?: number;
  /** Where the scores are filed, too, under the checkpoint's step: a SQLite file or a postgres:// URL. */
  readonly store?: string;
  /** The run's id or name there. Default: the name of the checkpoint's run. */
  readonly run?: string;
}

/** What a checkpoint was found to be worth. */
export interface CheckpointEvaluation {
  /** Where it lies. */
  readonly path: string;
  readonly uri: string;
  readonly manifest: Manifest;
  readonly results: readonly SuiteResult[];
}

/**
 * Evaluates a checkpoint by its address alone: a path, or a `file:` URI; of a directory of checkpoints the newest whole
 * one. Policy and environment are those that the run's settings describe in its manifest.
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
  const { episodes = 10, seed, suites, environment, store, run, ...rest } = options;
  const checkpoint = await openCheckpoint(pathOf(address));
  const { path, manifest } = checkpoint;
  const described = describedIn(checkpoint);
  const own = environment ?? described.environment;
  const played = checkSuites(
    "evaluateCheckpoint",
    suites === undefined || suites === "lessons" ? await ownSuites(checkpoint, own, suites) : suites,
  );
  const { player, state } = await playerIn(checkpoint, described, await spacesFor(described, played));
  const results = await evaluateSuites({
    ...{ ...rest, player, state, suites: played, episodes },
    seed: seed ?? evaluationSeed(described.seed),
  });
  const evaluated = { path, uri: pathToFileURL(path).href, manifest, results };
  if (store !== undefined) await file(evaluated, store, run ?? manifest.run);
  return evaluated;
}

async function file(
  { uri, manifest, results }: CheckpointEvaluation,
  location: string,
  run: string,
): Promise<void> {
  const store = await openStatsStore(location);
  try {
    const filing = { step: manifest.counters.steps, results, checkpoint: uri };
    const id = await runIn(store, run, systemClock);
    await fileEvaluation(store, id, filing, { clock: systemClock, episodes: false });
  } finally {
    await store.close();
  }
}

/** The seed of a run's evaluations: of a stream of their own, which moves no other. */
export const evaluationSeed = (seed: number): number => new RandomStreams(seed).get("evaluation").seed();

async function ownSuites(
  { path }: Checkpoint,
  environment: EnvironmentSource | undefined,
  suites: "lessons" | undefined,
): Promise<Suites> {
  if (environment === undefined)
    throw new EspalierError("ENVIRONMENT_MISSING", `the settings of ${path} name no environment`, {
      fix: "say which: { environment }, or --env NAME of espalier evaluate, with --module FILE where it is your own",
    });
  if (suites === "lessons") return suitesOf(environment, (await environmentMaker(environment))());
  return { [nameOf(environment)]: { environment } };
}

const nameOf = (environment: EnvironmentSource): string =>
  typeof environment === "string" ? environment : environment.name;

/** What the policy was made for: as the run says, else as its environment has it, or where nobody here knows that, the suites'. */
async function spacesFor({ spaces, environment }: Described, suites: Suites): Promise<PolicySpaces> {
  if (spaces) return spaces;
  const [first] = Object.values(suites);
  const sources = [environment, first?.environment].filter((source) => source !== undefined);
  for (const [i, source] of sources.entries())
    try {
      return await spacesOf(source);
    } catch (error) {
      const unknown = error instanceof EspalierError && error.code === "ENVIRONMENT_UNKNOWN";
      if (!unknown || i === sources.length - 1) throw error;
    }
  throw new EspalierError("ENVIRONMENT_MISSING", "there is no environment to evaluate on");
}
