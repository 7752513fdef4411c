import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import type { ConfigPlace } from "../config/index.ts";
import { EspalierError, errorText, numberText, printableText, tableLines } from "../core/index.ts";
import type { CheckpointEvaluationOptions, Environment, EnvironmentSource } from "../rl/index.ts";
import { given, option, type Values, withOptions } from "./options.ts";
import { checkpointHelp, checkpointOf } from "./predict.ts";
import { ranElsewhere, withModule } from "./run-again.ts";
import { jsonText } from "./text.ts";
import { configuredParts, overridesOf } from "./train.ts";

const evaluateOptions = {
  which: option.which(),
  runs: option.runs(),
  config: option.text("<file|run>", "the configuration, instead of that of the checkpoint's run"),
  set: option.set(),
  env: option.text("<name>", "the environment, instead of the one it was trained on"),
  module: option.module(),
  suite: option.text("<lessons|JSON>", "a suite for each lesson, or suites as evaluationHook has them"),
  episodes: option.count("<n>", "episodes of each suite (default: 10)"),
  seed: option.count("<n>", "where episodes begin (default: as in the run's own evaluations)", { min: 0 }),
  sample: option.flag("draw actions instead of taking the best ones"),
  engine: option.engine("where the policy runs"),
  store: option.text("<location>", "file the scores there, too: a SQLite file or a postgres:// URL"),
  run: option.text("<id>", "the run that they are filed under (default: the checkpoint's)"),
  json: option.json(),
};
type EvaluateOptions = Values<typeof evaluateOptions>;

export function registerEvaluate(program: Command): void {
  withOptions(program.command("evaluate"), evaluateOptions)
    .argument("<checkpoint|run>", checkpointHelp)
    .addHelpText(
      "after",
      `
Environments of your own are those of the run's configuration, which a checkpoint of a run finds by itself. A model
without a policy is validated: on the data of the configuration.

Examples:
  espalier evaluate cartpole --episodes 100
  espalier evaluate customers --which best
  espalier evaluate runs/maze/epoch-0040-update-001600 --suite lessons --json
  espalier evaluate runs/cartpole --store runs/stats.db --run cartpole
  espalier evaluate runs/mine --module ./my-environment.mts`,
    )
    .action(async (from: string, options: EvaluateOptions) => {
      const request = requestOf(options);
      if (await ranElsewhere(options.module)) return;
      const place = await placeOf(from, options);
      const configured = place && (await configuredParts(place, overridesOf(options), [["task", "env"]]));
      if (place && !configured) return;
      const address = await chosen(await checkpointOf(from, options.runs), options.which);
      const env = sourceIn(configured?.parts[0]);
      const found = await evaluate(address, { ...given({ env }), ...request }).catch((cause: unknown) => {
        const isModel = cause instanceof EspalierError && cause.code === "CHECKPOINT_WITHOUT_POLICY";
        if (isModel && place) return validated(address, place, options);
        throw isModel
          ? withConfig(cause)
          : withModule(cause, options.module, "in suites give { module, name }");
      });
      console.log(options.json ? jsonText(found) : printableText(evaluationText(found)));
    });
}

/** The configuration that belongs to a checkpoint: the one that is given, or that of the run whose directory it is in. */
async function placeOf(from: string, { config, runs }: EvaluateOptions): Promise<ConfigPlace | undefined> {
  const { configAround, locateConfig } = await import("../config/index.ts");
  if (config !== undefined) return locateConfig(config, runs);
  const address = await checkpointOf(from, runs);
  return configAround(address.startsWith("file:") ? fileURLToPath(address) : address);
}

/** The address of a directory of checkpoints, or of the best checkpoint in it. */
async function chosen(address: string, which: "best" | "last"): Promise<string> {
  if (which === "last") return address;
  const { CheckpointManager, storeAt } = await import("../checkpoint/index.ts");
  // A checkpoint itself holds no others: it is what was asked for.
  return (await new CheckpointManager({ store: storeAt(address) }).best())?.path ?? address;
}

/** A source of environments that a configuration made and a checkpoint cannot name. */
const sourceIn = (env: unknown): EnvironmentSource | undefined =>
  typeof env === "function" ? (env as () => Environment) : undefined;

/** Validates a model with the data of its run's configuration. */
async function validated(address: string, place: ConfigPlace, options: EvaluateOptions): Promise<Evaluation> {
  const ofPolicies = ["env", "suite", "episodes", "seed", "sample", "store"] as const;
  const given = ofPolicies.filter((name) => options[name] !== undefined).map((name) => `--${name}`);
  if (given.length > 0)
    throw new EspalierError("OPTION_INVALID", `${given.join(", ")}: for policies, and this is a model`, {
      fix: "leave it out: a model is validated on the data of the configuration",
    });
  const { buildRun, configAt, plannedTrainer } = await import("../config/index.ts");
  const { openCheckpoint, resumeTrainer, uriOf } = await import("../checkpoint/index.ts");
  const trainer = plannedTrainer(await buildRun(await configAt(place, overridesOf(options)), place.base));
  const { path } = await openCheckpoint(address);
  const { run, counters } = await resumeTrainer(trainer, path);
  const scores = { validation: await trainer.validate() };
  return { checkpoint: uriOf(path), run, step: counters.steps, scores };
}

function requestOf({ suite, sample, ...options }: EvaluateOptions): EvaluateRequest {
  const { env, episodes = 10, seed, engine, store, run } = options;
  if (run !== undefined && store === undefined)
    throw new EspalierError("OPTION_INVALID", "--run is given, and --store is not", {
      fix: "say where scores are filed: --store runs/stats.db",
    });
  const suites = suite === undefined ? undefined : suitesIn(suite);
  const deterministic = sample ? false : undefined;
  return given({ env, episodes, seed, engine, store, run, suites, deterministic });
}

/** Adds the fix to the error of a model that its run's configuration would tell how to validate. */
const withConfig = (cause: EspalierError): EspalierError =>
  new EspalierError(cause.code, errorText(cause), {
    fix: "give the checkpoint of a policy; or the configuration, with the data that it is validated on: --config run.yaml",
    cause,
  });

function suitesIn(text: string): NonNullable<EvaluateRequest["suites"]> {
  if (text === "lessons") return text;
  try {
    return JSON.parse(text) as NonNullable<EvaluateRequest["suites"]>;
  } catch (cause) {
    throw new EspalierError("OPTION_INVALID", `--suite is "${text}", which is neither "lessons" nor JSON`, {
      fix: `write --suite lessons, or --suite '{"all":{"env":"CartPole-v1"}}'`,
      cause,
    });
  }
}

type EvaluateRequest = Pick<
  CheckpointEvaluationOptions,
  "env" | "suites" | "episodes" | "seed" | "deterministic" | "engine" | "store" | "run"
>;

/** The result of an evaluation: scores by suite. */
export type Evaluation = Awaited<ReturnType<typeof evaluate>>;

/** Evaluates a checkpoint, and files the scores where that is asked for. */
export async function evaluate(address: string, request: EvaluateRequest) {
  // Engine, environments and databases are needed here alone: other commands start faster without.
  const { evaluateCheckpoint } = await import("../rl/index.ts");
  const { uri, manifest, results } = await evaluateCheckpoint(address, request);
  const scores = Object.fromEntries(results.map(({ suite, scores }) => [suite, scores]));
  return { checkpoint: uri, run: manifest.run, step: manifest.counters.steps, scores };
}

export function evaluationText({ checkpoint, run, step, scores }: Evaluation): string {
  const title = `${checkpoint} (run ${run}, step ${step})`;
  if (scores.validation && !("return" in scores.validation))
    return [
      title,
      ...tableLines(
        Object.entries(scores.validation).map(([name, value]) => [name, numberText(value, { digits: 5 })]),
      ),
    ].join("\n");
  const names = ["return", "return.deviation", "return.min", "return.max", "length", "episodes"] as const;
  const rows = Object.entries(scores).map(([suite, each]) => [
    suite,
    ...names.map((name) => numberText(each[name] ?? Number.NaN, { digits: 5 })),
  ]);
  const head = ["suite", "return", "deviation", "min", "max", "length", "episodes"];
  return [title, ...tableLines([head, ...rows])].join("\n");
}
