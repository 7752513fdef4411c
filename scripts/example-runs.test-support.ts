// Loaded before a program (`node --import`): trainings end after a few updates, and the one whose number is
// ESPALIER_TEST_TRAINING writes what it was to ESPALIER_TEST_REPORT and ends the process, before the program looks at
// results that a short training does not have.
import { writeFileSync } from "node:fs";
import { hashState } from "../src/state/index.ts";
import { Trainer, type TrainingResult } from "../src/trainer/index.ts";

const { ESPALIER_TEST_TRAINING, ESPALIER_TEST_REPORT = "", ESPALIER_TEST_UPDATES = "6" } = process.env;
const updates = Number(ESPALIER_TEST_UPDATES);

/** What a training was: it is equal where code and file say the same. */
export interface TrainingReport {
  readonly config: string;
  readonly settings: unknown;
  /** Hooks by name: when they run. */
  readonly hooks: Readonly<Record<string, string>>;
  /** sha256 of the state of each component. */
  readonly components: Readonly<Record<string, string>>;
  readonly counters?: unknown;
  readonly validation?: unknown;
  readonly metrics?: unknown;
}

async function reportOf(trainer: Trainer, result?: TrainingResult): Promise<TrainingReport> {
  const components: Record<string, string> = {};
  for (const [name, part] of Object.entries(trainer.components))
    components[name] = await hashState(await part.getState());
  const { name: _, handleSignals: __, ...config } = trainer.config;
  const text = (_: string, value: unknown): unknown =>
    typeof (value as { describe?: unknown } | null)?.describe === "function"
      ? (value as { describe(): string }).describe()
      : value;
  return {
    config: JSON.stringify(config, text),
    settings: trainer.settings,
    hooks: Object.fromEntries(
      trainer.hooks.plan().hooks.map(({ name, schedule }) => [name, schedule?.describe() ?? ""]),
    ),
    components,
    ...(result && { counters: result.counters, validation: result.validation, metrics: result.metrics }),
  };
}

let trainings = 0;
const { train } = Trainer.prototype;
Trainer.prototype.train = async function (this: Trainer) {
  const isLast = String(++trainings) === ESPALIER_TEST_TRAINING;
  const end = async (result?: TrainingResult): Promise<void> => {
    writeFileSync(ESPALIER_TEST_REPORT, JSON.stringify(await reportOf(this, result)));
    process.exit(0);
  };
  if (isLast && updates === 0) await end();
  this.registerHook({
    name: "short",
    onBatchesEnd: ({ counters, stop }) => (counters.updates >= updates ? stop("it is short") : undefined),
  });
  const result = await train.call(this);
  if (isLast) await end(result);
  return result;
};
