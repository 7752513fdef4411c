import { writeFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { EspalierError } from "../core/index.ts";
import { countOf } from "./options.ts";
import { programFor, runAgain, thisProgram } from "./run-again.ts";
import { jsonText } from "./text.ts";

interface FindRateOptions {
  readonly from?: string;
  readonly to?: string;
  readonly updates: string;
  readonly rate?: string;
  readonly svg?: string;
  readonly engine?: "wasm" | "xla";
  readonly json?: boolean;
}

/** `espalier lr-find FILE`. */
export function registerFindRate(program: Command): void {
  program
    .command("lr-find")
    .argument(
      "<file>",
      "exports a training set-up: export const setup: TrainingSetup = () => ({ task, config })",
    )
    .option("--from <rate>", "the first rate (default: 1e-7)")
    .option("--to <rate>", "the last rate (default: 10)")
    .option("--updates <n>", "updates from the first to the last", "100")
    .option("--rate <name>", "the ramp of the task that is the rate (default: learningRate)")
    .option("--svg <file>", "write the curve as an image, too")
    .addOption(new Option("--engine <name>", "train on this engine").choices(["wasm", "xla"]))
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Nothing is saved: the file's own run starts as if this had not been.

Examples:
  espalier lr-find train.mts
  espalier lr-find train.mts --from 1e-5 --to 1 --updates 200 --svg rate.svg`,
    )
    .action(async (file: string, options: FindRateOptions) => {
      const self = thisProgram();
      const { from, to, rate, svg, engine } = options;
      const range = {
        updates: countOf("--updates", options.updates, 10),
        ...(from !== undefined && { from: rateOf("--from", from) }),
        ...(to !== undefined && { to: rateOf("--to", to) }),
        ...(rate !== undefined && { rate }),
      };
      const other = programFor(file, self);
      if (other !== self) {
        process.exitCode = await runAgain(other, process.argv.slice(2));
        return;
      }
      // Trainer and engine are needed here alone: other commands start faster without.
      const [{ loadSetup, twoCopies }, { findLearningRate }, { setEngine }] = await Promise.all([
        import("./prove-resume/part.ts"),
        import("../supervised/index.ts"),
        import("../engine/index.ts"),
      ]);
      if (engine) setEngine(engine);
      const { task, config = {} } = await loadSetup(file);
      const curve = await findLearningRate(task, { ...range, config }).catch(async (cause) => {
        throw (await twoCopies(task.components, cause)) ?? cause;
      });
      if (svg !== undefined) writeFileSync(svg, curve.svg());
      console.log(options.json ? jsonText(curve) : curve.text());
    });
}

/** A rate that was typed: `1e-5`, `0.01`. */
function rateOf(option: string, text: string): number {
  const number = Number(text);
  if (text.trim() !== "" && number > 0 && Number.isFinite(number)) return number;
  throw new EspalierError("OPTION_INVALID", `${option} is "${text}"`, {
    fix: "give a number above 0, such as 1e-5",
  });
}
