import { writeFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { countOf, given, invalid } from "./options.ts";
import { importFile } from "./run-again.ts";
import { jsonText } from "./text.ts";
import { overrideOption, overridesOf, ranByLoader } from "./train.ts";

interface FindRateOptions {
  readonly set: readonly string[];
  readonly runs: string;
  readonly from?: number;
  readonly to?: number;
  readonly updates: number;
  readonly rate?: string;
  readonly svg?: string;
  readonly engine?: "wasm" | "xla";
  readonly json?: boolean;
}

/** `espalier lr-find FILE|RUN`. */
export function registerFindRate(program: Command): void {
  program
    .command("lr-find")
    .argument(
      "<file|run>",
      "run.yaml or run.json, a run's directory, id or name, or a module: export default runConfig({ ... }), or export const setup: TrainingSetup = () => ({ task, config })",
    )
    .addOption(overrideOption())
    .option("--runs <directory>", "where runs are", "runs")
    .option("--from <rate>", "the first rate (default: 1e-7)", rateOf("--from"))
    .option("--to <rate>", "the last rate (default: 10)", rateOf("--to"))
    .option("--updates <n>", "updates from the first to the last", countOf("--updates", 10), 100)
    .option("--rate <name>", "the ramp of the task that is the rate (default: learningRate)")
    .option("--svg <file>", "write the curve as an image, too")
    .addOption(new Option("--engine <name>", "train on this engine").choices(["wasm", "xla"]))
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Nothing is saved: the file's own run starts as if this had not been.

Examples:
  espalier lr-find run.yaml --set task.batchSize=64
  espalier lr-find train.mts --from 1e-5 --to 1 --updates 200 --svg rate.svg`,
    )
    .action(async (file: string, options: FindRateOptions) => {
      const { from, to, rate, updates, svg, engine } = options;
      // Trainer and engine are needed here alone: other commands start faster without.
      const { buildRun, configAt, locateConfig } = await import("../config/index.ts");
      const place = locateConfig(file, options.runs);
      if (await ranByLoader(place.file, place.base)) return;
      const [{ loadSetup, twoCopies }, { findLearningRate }, { setEngine }] = await Promise.all([
        import("./prove-resume/part.ts"),
        import("../supervised/index.ts"),
        import("../engine/index.ts"),
      ]);
      if (engine) setEngine(engine);
      const isSetup =
        !/\.(ya?ml|json)$/i.test(place.file) && "setup" in (await importFile(place.file, "setup"));
      const { task, config = {} } = isSetup
        ? await loadSetup(file)
        : (await buildRun(await configAt(place, overridesOf(options)), place.base)).trainer;
      const curve = await findLearningRate(task, { config, ...given({ from, to, rate, updates }) }).catch(
        async (cause) => {
          throw (await twoCopies(task.components, cause)) ?? cause;
        },
      );
      if (svg !== undefined) writeFileSync(svg, curve.svg());
      console.log(options.json ? jsonText(curve) : curve.text());
    });
}

/** A rate that was typed: `1e-5`, `0.01`. */
function rateOf(option: string): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (text.trim() !== "" && number > 0 && Number.isFinite(number)) return number;
    throw invalid(option, text, "give a number above 0, such as 1e-5");
  };
}
