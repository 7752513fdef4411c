#!/usr/bin/env node
import { EspalierError } from "../core/index.ts";
import { createProgram, describeFailure, type RegisterCommand } from "./program.ts";

// The `espalier` program. A file has one or more commands, and what each does. Only the file of the command that is
// called is loaded, so that help and errors come at once.
//
// Shared: options.ts (typed values), terminal.ts (output, colours, Ctrl-C), text.ts (tables, times), run-again.ts
// (the command once more, with a loader of TypeScript).
const files = {
  new: async () => (await import("./new.ts")).registerNew,
  train: async () => (await import("./train.ts")).registerTrain,
  sweep: async () => (await import("./sweep.ts")).registerSweep,
  plan: async () => (await import("./plan/command.ts")).registerPlan,
  hooks: async () => (await import("./hooks.ts")).registerHooks,
  schema: async () => (await import("./schema.ts")).registerSchema,
  "lr-find": async () => (await import("./lr-find.ts")).registerFindRate,
  runs: async () => (await import("./runs/command.ts")).registerRuns,
  dashboard: async () => (await import("./dashboard.ts")).registerDashboard,
  report: async () => (await import("./report.ts")).registerReport,
  predict: async () => (await import("./predict.ts")).registerPredict,
  generate: async () => (await import("./generate.ts")).registerGenerate,
  evaluate: async () => (await import("./evaluate.ts")).registerEvaluate,
  replay: async () => (await import("./replay/command.ts")).registerReplay,
  checkpoint: async () => (await import("./checkpoint/command.ts")).registerCheckpoint,
  "prove-resume": async () => (await import("./prove-resume/command.ts")).registerProveResume,
  cluster: async () => (await import("./cluster/command.ts")).registerCluster,
  worker: async () => (await import("./worker.ts")).registerWorker,
  evaluator: async () => (await import("./evaluator.ts")).registerEvaluator,
  engine: async () => (await import("./engine/command.ts")).registerEngine,
  doctor: async () => (await import("./doctor.ts")).registerDoctor,
  completion: async () => (await import("./completion.ts")).registerCompletion,
} as const satisfies Readonly<Record<string, () => Promise<RegisterCommand>>>;

/** Each command with its file and what it does; one that says nothing of itself is hidden: ours. */
const commands: Readonly<Record<string, readonly [file: keyof typeof files, does: string]>> = {
  new: ["new", "make a project: an environment or a data set, a hook with its test, and a run"],
  train: ["train", "train the run of a configuration, in a directory of its own"],
  resume: ["train", "go on with a run from its newest whole checkpoint"],
  sweep: ["sweep", "train a configuration with other values, and compare the runs by a metric"],
  "sweep-run": ["sweep", ""],
  plan: ["plan", "a dry run of a configuration: the order of its hooks with reasons, and when each runs"],
  hooks: ["hooks", "the hooks that a configuration can name: built-in ones, and those of installed packages"],
  schema: ["schema", "print the JSON schema of configurations, with which editors complete and check them"],
  "lr-find": [
    "lr-find",
    "raise the learning rate until the loss diverges, and print the curve and a rate to try",
  ],
  runs: ["runs", "the runs of a stats store, newest first"],
  show: ["runs", "what a run did: summary, curves, time of hooks, evaluations, checkpoints, health"],
  compare: [
    "runs",
    "runs side by side: outcome, length, metrics, evaluations, and settings in which they differ",
  ],
  export: ["runs", "write a run's metrics to files of another program"],
  tail: ["runs", "print a run's metrics as they come, until it ends; Ctrl-C stops watching"],
  why: ["runs", "why a hook did or did not run in a past run"],
  dashboard: ["dashboard", "watch, compare and steer runs in a browser"],
  report: ["report", "one HTML file of a run, which works offline"],
  predict: ["predict", "predict the rows of a file with the model of a checkpoint or a run"],
  generate: ["generate", "write text with the transformer of a checkpoint or a run"],
  evaluate: ["evaluate", "play episodes with the policy of a checkpoint and print how good it is"],
  replay: ["replay", "watch a recorded episode, or make a film of it"],
  checkpoint: ["checkpoint", "look into checkpoints, verify, compare and remove them"],
  "prove-resume": [
    "prove-resume",
    "train in one go, and again with a kill and a resume, and compare the end states bit for bit",
  ],
  "prove-resume-part": ["prove-resume", ""],
  cluster: ["cluster", "a server for runs on several machines, and who is there"],
  worker: ["worker", "make rollouts for a run that is trained on this or another machine"],
  evaluator: ["evaluator", "evaluate checkpoints of a run that is trained on this or another machine"],
  engine: ["engine", "the engines that math runs on: list, install and check them"],
  "engine-probe": ["engine", ""],
  doctor: [
    "doctor",
    "look at Node, engines, disk, permissions and optional parts, and say how to mend what is wrong",
  ],
  completion: ["completion", "print a script that completes commands, options and files in a shell"],
};

const called = process.argv.slice(2).find((word) => !word.startsWith("-") && word !== "help") ?? "";
const isLoaded = (file: string): boolean =>
  called === "completion" || (Object.hasOwn(commands, called) && commands[called]?.[0] === file);
const named =
  (file: string): RegisterCommand =>
  (program) => {
    for (const [name, [own, does]] of Object.entries(commands))
      if (own === file) program.command(name, { hidden: does === "" });
  };
const program = createProgram(
  await Promise.all(Object.entries(files).map(([file, load]) => (isLoaded(file) ? load() : named(file)))),
);
for (const [name, [, does]] of Object.entries(commands))
  program.commands.find((command) => command.name() === name)?.description(does);
// A reader that goes away, as `head` does, ends no command: a run goes on, and its checkpoints are what counts.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") fail(error, stream === process.stdout);
  });
const told = new Set<string>();
/** Tells of a failure once: that of an output ends each of its writes, and the command with them. */
function fail(error: unknown, canTell = true): void {
  // A command may have chosen another.
  process.exitCode ||= 1;
  const text = describeFailure(error, program.opts().debug === true);
  if (canTell && !told.has(text)) console.error(text);
  told.add(text);
}
let isOver = false;
// Node ends a program that has nothing left to do, whatever it still awaits, and says nothing.
process.on("beforeExit", () => {
  if (isOver) return;
  isOver = true;
  fail(
    new EspalierError("NEVER_RESOLVED", "it waits for a promise that nothing can resolve any more", {
      fix: "resolve every promise that the configuration, hooks and environments of your own return",
    }),
  );
});
await program.parseAsync().catch((error: unknown) => fail(error));
isOver = true;
