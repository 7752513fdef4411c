import { existsSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import type { Command } from "commander";
import type { ConfigPlace, ConfigSource, Path, PreparedRun } from "../config/index.ts";
import { amountText } from "../core/index.ts";
import type { TrainingResult } from "../trainer/index.ts";
import { option, type Values, withOptions } from "./options.ts";
import { callName, ranFor, thisProgram } from "./run-again.ts";
import { jsonText } from "./text.ts";

const trainOptions = {
  set: option.set(),
  engine: option.engine("train on this engine"),
  quiet: option.flag("show problems alone", { short: "q" }),
  json: option.json("print the result as JSON, and no progress"),
};
export type TrainOptions = Values<typeof trainOptions>;
const resumeOptions = { ...trainOptions, runs: option.runs() };

export function registerTrain(program: Command): void {
  withOptions(program.command("train"), trainOptions)
    .argument("<file>", "run.yaml, run.json, or run.ts with: export default runConfig({ ... })")
    .addHelpText(
      "after",
      `
Ctrl-C ends the run in good order, with a checkpoint: espalier resume goes on from there.
Exit codes: 0 completed or stopped by a hook, 1 failed, 130 interrupted.

Examples:
  espalier train run.yaml
  espalier train run.yaml --set task.learningRate=1e-3 --set training.seed=2
  espalier train run.ts --engine wasm --quiet`,
    )
    .action(async (file: string, options: TrainOptions) => {
      if (await ranByLoader(file)) return;
      // At once: what it needs takes a moment to load.
      if (!options.json && !options.quiet) console.log(`reading ${file}`);
      const { createRun } = await import("../config/index.ts");
      await trainRun(() => createRun(file, startOf(options)), options);
    });

  withOptions(program.command("resume"), resumeOptions)
    .argument("<run>", "its directory, its id, the beginning of it, or its name (the newest of that name)")
    .addHelpText(
      "after",
      `
The configuration is the run's own, as its directory has it. Values of --set become part of it.
Exit codes: 0 completed or stopped by a hook, 1 failed, 130 interrupted.

Examples:
  espalier resume cartpole
  espalier resume runs/customers-20260131-120000-a1b2c3 --set training.epochs=20`,
    )
    .action(async (run: string, options: Values<typeof resumeOptions>) => {
      const { findRunDirectory, locateConfig, reopenRun } = await import("../config/index.ts");
      const directory = findRunDirectory(run, options.runs);
      const { file, base } = locateConfig(directory);
      if (await ranByLoader(file, base)) return;
      await trainRun(() => reopenRun(directory, startOf(options)), options);
    });
}

/** The values that `--set` and `--engine` change. */
export const overridesOf = ({ set, engine }: Pick<TrainOptions, "set" | "engine">): readonly string[] =>
  engine ? [...set, `engine=${engine}`] : set;

const startOf = (options: TrainOptions) => ({
  overrides: overridesOf(options),
  quiet: options.quiet === true || options.json === true,
});

/** True where the whole command ran in another process, which can import TypeScript as this configuration needs. */
export async function ranByLoader(file: string, base = dirname(resolve(file))): Promise<boolean> {
  const needs = /\.(ya?ml|json)$/i.test(file) ? mentionsTypeScript(file, base) : file;
  return needs !== undefined && (await ranFor(needs));
}

/**
 * Parts of a configuration, with its source for errors. Undefined where the whole command ran in another process. What it
 * imports may train where it is not a worker's process.
 */
export async function configuredParts(
  place: ConfigPlace,
  overrides: readonly string[],
  paths: readonly Path[],
): Promise<{ readonly source: ConfigSource; readonly parts: readonly unknown[] } | undefined> {
  const { buildParts, configAt } = await import("../config/index.ts");
  const { workerVariable } = await import("../rollout/index.ts");
  if (await ranByLoader(place.file, place.base)) return undefined;
  process.env[workerVariable] ??= "worker";
  const source = await configAt(place, overrides);
  return { source, parts: await buildParts(source, place.base, paths) };
}

/** A TypeScript file that a configuration uses, by its path from `base`; undefined where it uses none. */
function mentionsTypeScript(file: string, base: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return undefined; // Reading it for good says what is wrong.
  }
  const name = /(?:^|[\s"'[{,])(\.{0,2}\/[^\s"'#,\]}]+\.[mc]?tsx?)(?=["'#\s,\]}]|$)/m.exec(text)?.[1];
  const found = name === undefined ? undefined : resolve(base, name);
  return found !== undefined && existsSync(found) ? found : undefined;
}

async function trainRun(start: () => Promise<PreparedRun>, { quiet, json }: TrainOptions): Promise<void> {
  const { twoCopies } = await import("./prove-resume/part.ts");
  const run = await start();
  if (!json && !quiet) console.log(`${run.id}\n  ${run.directory}`);
  let result: TrainingResult;
  try {
    result = await run.train();
  } catch (error) {
    throw (await twoCopies(run.trainer.components, error)) ?? error;
  }
  const { outcome, reason, counters, metrics, validation, timings } = result;
  if (json) {
    const { id, directory } = run;
    const seconds = timings.seconds;
    console.log(jsonText({ id, directory, outcome, reason, counters, metrics, validation, seconds }));
  } else if (!quiet) {
    const why = reason === undefined ? "" : ` (${reason})`;
    console.log(`${outcome}${why} after ${amountText(counters.updates, "updates")}`);
    const { readRecord } = await import("../config/index.ts");
    const { stats } = readRecord(run.directory);
    // The id is enough where the commands look by themselves.
    const isUsual =
      resolve(run.directory) === resolve("runs", run.id) &&
      resolve(run.directory, stats || "stats.db") === resolve("runs/stats.db");
    const name = isUsual ? run.id : relative("", run.directory);
    if (outcome === "interrupted") console.log(`next: ${callName(thisProgram())} resume ${name}`);
    else if (stats !== false) console.log(`next: ${callName(thisProgram())} show ${name}`);
  }
}
