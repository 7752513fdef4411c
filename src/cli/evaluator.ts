import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import type { EvaluatorEvent } from "../cluster/index.ts";
import type { ConfigSource } from "../config/index.ts";
import { EspalierError, numberText, printable } from "../core/index.ts";
import { given, option, type Values, withOptions } from "./options.ts";
import { ranElsewhere } from "./run-again.ts";
import { leaveOnSignals } from "./terminal.ts";
import { durationText, jsonText } from "./text.ts";
import { configuredParts } from "./train.ts";
import { memberOptions } from "./worker.ts";

const evaluatorOptions = {
  ...memberOptions,
  run: option.text("<name>", "the run: natsEvaluations({ run }) (default: the configuration's)"),
  module: option.text(
    "<file>",
    "import this first: it registers environments of your own (default: the module that the run names)",
  ),
  config: option.text(
    "<file|run>",
    "import what a configuration, or the run in a directory, imports, and use its engine",
  ),
  jobs: option.count("<n>", "leave after so many evaluations (default: when the run ends)"),
  json: option.json("print a line of JSON for each evaluation"),
};

export function registerEvaluator(program: Command): void {
  withOptions(program.command("evaluator"), evaluatorOptions)
    .addHelpText(
      "after",
      `
It takes one checkpoint at a time, which it has to be able to read: from a directory that the machines share, or from
s3://. It works until the run ends (exit code 0), and leaves on SIGTERM or Ctrl-C (143, 130): another evaluator gets
what it had begun. A trainer or a server that is away for a while is waited for.

Examples:
  espalier evaluator --run maze
  espalier evaluator --config run.yaml
  espalier evaluator --run maze --module ./my-environment.mts --engine wasm
  NATS_URL=nats://trainer:4222 NATS_TOKEN=... espalier evaluator --run maze --jobs 1 --json`,
    )
    .action(evaluate);
}

async function evaluate(options: Values<typeof evaluatorOptions>): Promise<void> {
  const { servers, engine, config, jobs, wait: patience } = options;
  // Needed here alone: other commands start faster without.
  const { awaitRun, memberName, moduleUrl, natsBroker, runEvaluator } = await import("../cluster/index.ts");
  const { workerVariable } = await import("../rollout/index.ts");
  const name = memberName(options.name ?? hostname());
  // The module may train where it is not a worker's process.
  process.env[workerVariable] = name;
  if (await ranElsewhere(options.module)) return;
  const { locateConfig } = await import("../config/index.ts");
  const configured =
    config === undefined ? undefined : await configuredParts(locateConfig(config), options.set, []);
  if (config !== undefined && !configured) return;
  const run = options.run ?? (configured && runIn(configured.source));
  if (run === undefined)
    throw new EspalierError("OPTION_INVALID", "it is not said for which run", {
      fix: "give --run NAME, or --config with an evaluationHook whose queue is natsEvaluations({ run })",
    });
  const warn = (text: string): void => console.error(text);
  const broker = await natsBroker({ ...given({ servers }), patience, warn });
  const leaving = leaveOnSignals("evaluator");
  const say = (event: EvaluatorEvent | Left): void =>
    console.log(options.json ? jsonText(plain(event), 0) : printable(lineOf(event, name, run), 2000));
  try {
    const { module } = await awaitRun(broker, run, { seconds: patience, warn });
    if (module !== undefined && options.module === undefined && config === undefined) {
      const url = await Promise.resolve(module)
        .then(moduleUrl)
        .catch(() => undefined);
      if (!url) warn(`the run's module ${module} is not here: environments that it registers are not known`);
      else if (await ranElsewhere(fileURLToPath(url))) return;
    }
    const how = { told: say, signal: leaving, ...given({ jobs, engine }) };
    const left = await runEvaluator({ broker, run, name, patience, warn, ...how });
    say({ kind: "left", ...left });
  } finally {
    await broker.close();
  }
}

/** The run that a configuration names: by the queue of its evaluations, or the transport of its task. */
function runIn({ value }: ConfigSource): string | undefined {
  const { hooks = [], task } = value as { readonly hooks?: readonly unknown[]; readonly task?: unknown };
  const parts = [...hooks.map((hook) => memberOf(hook, "queue")), memberOf(task, "transport")];
  return parts.map((part) => memberOf(part, "run")).find((run) => typeof run === "string");
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;

interface Left {
  readonly kind: "left";
  readonly why: "ended" | "stopped" | "jobs";
  readonly jobs: number;
}

/** What happened, in one line. */
function lineOf(event: EvaluatorEvent | Left, name: string, run: string): string {
  if (event.kind === "joined") return `${name} waits for checkpoints of run "${run}"`;
  if (event.kind === "left") {
    const why = { ended: `run "${run}" has ended`, stopped: "it was told to leave", jobs: "that was all" };
    return `${event.jobs} evaluated; ${why[event.why]}`;
  }
  const { kind, job, seconds, results = [], replays = [], failure } = event;
  const scores = results.map(
    ({ suite, scores }) => `${suite}.return ${numberText(scores.return ?? Number.NaN, { digits: 5 })}`,
  );
  const what = {
    done: [...scores, ...(replays.length > 0 ? [`${replays.length} replays`] : [])].join(", "),
    failed: `failed: ${failure?.message.split("\n")[0]}`,
    returned: "given back",
    cancelled: "not wanted any more",
  };
  return `step ${job.step}: ${what[kind]} (${durationText(1000 * seconds)}, ${job.checkpoint})`;
}

/** The same for programs. */
function plain(event: EvaluatorEvent | Left): unknown {
  if (event.kind === "joined" || event.kind === "left") return event;
  const { kind, job, seconds, results, replays, failure } = event;
  return {
    kind,
    id: job.id,
    step: job.step,
    checkpoint: job.checkpoint,
    seconds,
    ...(results && { scores: Object.fromEntries(results.map(({ suite, scores }) => [suite, scores])) }),
    ...(replays && { replays: replays.map(({ uri, path }) => uri ?? path) }),
    ...(failure && { error: failure.message }),
  };
}
