import { writeFileSync } from "node:fs";
import type { Command } from "commander";
import { option, type Values, withOptions } from "./options.ts";
import { jsonText } from "./text.ts";
import { ranByLoader } from "./train.ts";

const findRateOptions = {
  set: option.set(),
  runs: option.runs(),
  from: option.number("<rate>", "the first rate (default: 1e-7)", { above: 0 }),
  to: option.number("<rate>", "the last rate (default: 10)", { above: 0 }),
  updates: option.count("<n>", "updates from the first to the last", { min: 10, default: 100 }),
  rate: option.text("<name>", "the ramp of the task that is the rate (default: learningRate)"),
  svg: option.text("<file>", "write the curve as an image, too"),
  engine: option.engine("train on this engine"),
  json: option.json(),
};

export function registerFindRate(program: Command): void {
  withOptions(program.command("lr-find"), findRateOptions)
    .argument(
      "<file|run>",
      "run.yaml or run.json, a run's directory, id or name, or a module: export default runConfig({ ... }), or export const setup: TrainingSetup = () => ({ task, config })",
    )
    .addHelpText(
      "after",
      `
Nothing is saved: the file's own run starts as if this had not been.

Examples:
  espalier lr-find run.yaml --set task.batchSize=64
  espalier lr-find train.mts --from 1e-5 --to 1 --updates 200 --svg rate.svg`,
    )
    .action(async (file: string, given: Values<typeof findRateOptions>) => {
      const { set, runs, svg, engine, json, ...range } = given;
      // Trainer and engine are needed here alone: other commands start faster without.
      const { locateConfig } = await import("../config/index.ts");
      const place = locateConfig(file, runs);
      if (await ranByLoader(place.file, place.base)) return;
      const [{ setupAt, twoCopies }, { findLearningRate }] = await Promise.all([
        import("./prove-resume/part.ts"),
        import("../supervised/index.ts"),
      ]);
      const { task, config = {} } = (await setupAt(place, { set, ...(engine && { engine }) })).setup;
      const curve = await findLearningRate(task, { config, ...range }).catch(async (cause) => {
        throw (await twoCopies(task.components, cause)) ?? cause;
      });
      // It is not lost where the file cannot be written.
      console.log(json ? jsonText(curve) : curve.text());
      if (svg !== undefined) writeFileSync(svg, curve.svg());
    });
}
