import { type Command, Option } from "commander";
import { EspalierError, numberText, printableText, tableLines } from "../core/index.ts";
import type { CheckpointEvaluationOptions } from "../rl/index.ts";
import { countOf } from "./options.ts";
import { ranElsewhere, thisProgram } from "./run-again.ts";
import { jsonText } from "./text.ts";

interface EvaluateOptions {
  readonly env?: string;
  readonly module?: string;
  readonly suite?: string;
  readonly episodes: string;
  readonly seed?: string;
  readonly sample?: boolean;
  readonly engine?: "wasm" | "xla";
  readonly store?: string;
  readonly run?: string;
  readonly json?: boolean;
}

/** `espalier evaluate CHECKPOINT`. */
export function registerEvaluate(program: Command): void {
  program
    .command("evaluate")
    .argument(
      "<checkpoint>",
      "its path, file: URI or address on S3; of a directory of checkpoints the newest whole one",
    )
    .option("--env <name>", "the environment, instead of the one it was trained on")
    .option(
      "--module <file>",
      "import this first: it registers environments of your own by registerEnvironment",
    )
    .option("--suite <lessons|JSON>", "a suite for each lesson, or suites as evaluationHook has them")
    .option("--episodes <n>", "episodes of each suite", "10")
    .option("--seed <n>", "where episodes begin (default: as in the run's own evaluations)")
    .option("--sample", "draw actions instead of taking the best ones")
    .addOption(new Option("--engine <name>", "where the policy runs").choices(["wasm", "xla"]))
    .option("--store <location>", "file the scores there, too: a SQLite file or a postgres:// URL")
    .option("--run <id>", "the run that they are filed under (default: the checkpoint's)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  espalier evaluate runs/cartpole --episodes 100
  espalier evaluate runs/maze/epoch-0040-update-001600 --suite lessons --json
  espalier evaluate runs/cartpole --store runs/stats.db --run cartpole
  espalier evaluate runs/mine --module ./my-environment.mts`,
    )
    .action(async (checkpoint: string, options: EvaluateOptions) => {
      const request = requestOf(options);
      if (await ranElsewhere(options.module, thisProgram(), process.argv.slice(2))) return;
      const found = await evaluate(checkpoint, request).catch((cause: unknown) => {
        throw withModule(cause, options.module);
      });
      console.log(options.json ? jsonText(found) : printableText(evaluationText(found)));
    });
}

function requestOf(options: EvaluateOptions): EvaluateRequest {
  const { env, suite, seed, sample, engine, store, run } = options;
  if (run !== undefined && store === undefined)
    throw new EspalierError("OPTION_INVALID", "--run is given, and --store is not", {
      fix: "say where scores are filed: --store runs/stats.db",
    });
  return {
    episodes: countOf("--episodes", options.episodes),
    ...(env !== undefined && { env }),
    ...(suite !== undefined && { suites: suitesIn(suite) }),
    ...(seed !== undefined && { seed: countOf("--seed", seed, 0) }),
    ...(sample && { deterministic: false }),
    ...(engine && { engine }),
    ...(store !== undefined && { store }),
    ...(run !== undefined && { run }),
  };
}

/** Adds the fix to the error of an environment that is not registered. */
function withModule(cause: unknown, module: string | undefined): unknown {
  const [, name] = /there is no environment "(.+?)"/.exec(cause instanceof Error ? cause.message : "") ?? [];
  if (!(cause instanceof EspalierError) || cause.code !== "ENVIRONMENT_UNKNOWN" || !name) return cause;
  const [text = ""] = cause.message.split(` [${cause.code}]`);
  const registers = `registerEnvironment("${name}", { make })`;
  return new EspalierError(cause.code, text, {
    fix:
      module === undefined
        ? `where it is your own, give --module FILE, a file that calls ${registers}: names of one process are not known in another; in suites give { module, name }`
        : `let ${module} call ${registers}; where it does, it has a copy of Espalier to itself: ` +
          'name it .mts or .mjs, or put "type": "module" into its package.json',
    cause,
  });
}

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

/** The result of an evaluation. */
export interface Evaluation {
  readonly checkpoint: string;
  readonly run: string;
  readonly step: number;
  /** By suite. */
  readonly scores: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** Evaluates a checkpoint, and files the scores where that is asked for. */
export async function evaluate(address: string, request: EvaluateRequest): Promise<Evaluation> {
  // Engine, environments and databases are needed here alone: other commands start faster without.
  const { evaluateCheckpoint } = await import("../rl/index.ts");
  const { uri, manifest, results } = await evaluateCheckpoint(address, request);
  const scores = Object.fromEntries(results.map(({ suite, scores }) => [suite, scores]));
  return { checkpoint: uri, run: manifest.run, step: manifest.counters.steps, scores };
}

/** The table that the command prints. */
export function evaluationText({ checkpoint, run, step, scores }: Evaluation): string {
  const names = ["return", "return.deviation", "return.min", "return.max", "length", "episodes"] as const;
  const rows = Object.entries(scores).map(([suite, each]) => [
    suite,
    ...names.map((name) => numberText(each[name] ?? Number.NaN, { digits: 5 })),
  ]);
  const head = ["suite", "return", "deviation", "min", "max", "length", "episodes"];
  return [`${checkpoint} (run ${run}, step ${step})`, ...tableLines([head, ...rows])].join("\n");
}
