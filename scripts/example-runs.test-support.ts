// Runs examples one after the other, as programs (`code`) or by `espalier train` (`file`), and sends what the training
// of each was to the process that started this one. Trainings end after a few updates.
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { createProgram } from "../src/cli/program.ts";
import { registerTrain } from "../src/cli/train.ts";
import { every } from "../src/schedule/index.ts";
import { hashState } from "../src/state/index.ts";
import { Trainer, type TrainingResult } from "../src/trainer/index.ts";

/** A training of a program. */
export interface ExampleRun {
  readonly file: string;
  /** Which of its trainings, from 1. */
  readonly training: number;
  /** How many updates it makes, at least; 0: it is looked at before it begins. */
  readonly updates: number;
}

/** What a training was: it is equal where code and file say the same. */
export interface TrainingReport {
  readonly config: unknown;
  readonly settings: unknown;
  /** Hooks in their order, and when they run. */
  readonly hooks: readonly (readonly [name: string, schedule: string])[];
  /** sha256 of the state of each component. */
  readonly components: Readonly<Record<string, string>>;
  readonly counters: unknown;
  readonly validation: unknown;
  readonly metrics: unknown;
}

/** Updates of other trainings: a language model whose warm start is shorter earns no reward. */
const FEW = 20;
const reported = new Error("the training was reported: what follows in the program is not looked at");
let run: ExampleRun = { file: "", training: 0, updates: 0 };
let [trainings, isReported] = [0, false];

const { train } = Trainer.prototype;
Trainer.prototype.train = async function (this: Trainer) {
  const { file, training, updates } = run;
  const isMeant = ++trainings === training;
  const send = async (result?: TrainingResult): Promise<void> => {
    process.send?.({ file, report: await reportOf(this, result) });
    isReported = true;
  };
  if (isMeant && updates === 0) {
    await send();
    // A program goes on, so that the processes it started end well.
    if (file.endsWith(".yaml")) throw reported;
  }
  this.registerHook({
    name: "short",
    schedule: every({ updates: isMeant && updates > 0 ? updates : FEW }),
    onBatchEnd: ({ stop }) => stop("it is short"),
  });
  const result = await train.call(this);
  if (isMeant && updates > 0) {
    await send(result);
    throw reported;
  }
  return result;
};

async function reportOf(trainer: Trainer, result?: TrainingResult): Promise<TrainingReport> {
  const components: Record<string, string> = {};
  for (const [name, part] of Object.entries(trainer.components))
    components[name] = await hashState(await part.getState());
  // A run from a file has a name, and ends in good order on Ctrl-C.
  const { name: _name, handleSignals: _signals, ...config } = trainer.config;
  const { seconds: _seconds, ...counters } = result?.counters ?? {};
  const described = Object.entries(config).map(([name, value]) => [name, describe(value) ?? value]);
  return {
    config: Object.fromEntries(described),
    settings: trainer.settings,
    hooks: trainer.hooks.plan().hooks.map(({ name, schedule }) => [name, describe(schedule) ?? ""]),
    components,
    counters,
    validation: result?.validation,
    metrics: result?.metrics,
  };
}

/** What a schedule or a ramp says of itself. */
const describe = (value: unknown): string | undefined =>
  typeof value === "object" && value !== null && "describe" in value && typeof value.describe === "function"
    ? String(value.describe())
    : undefined;

process.once("message", async (runs: readonly ExampleRun[]) => {
  for (run of runs) {
    [trainings, isReported] = [0, false];
    try {
      if (run.file.endsWith(".yaml"))
        await createProgram([registerTrain]).parseAsync(["train", run.file], { from: "user" });
      else {
        process.argv[1] = run.file;
        await import(pathToFileURL(run.file).href);
      }
    } catch (error) {
      // A program that goes on after its report misses what a whole training gives.
      if (!isReported) process.send?.({ file: run.file, failed: inspect(error) });
    }
  }
  process.exit();
});
