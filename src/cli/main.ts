#!/usr/bin/env node
import { createProgram, describeFailure, type RegisterCommand } from "./program.ts";

// The `espalier` program. A chapter is a file or folder with one or more commands, and what each does. Only the chapter
// that is called is loaded, so that help and errors come at once. A command that says nothing of itself is hidden: ours.
//
// Shared: options.ts (typed numbers), terminal.ts (output, colours, Ctrl-C), text.ts (tables, times), run-again.ts
// (the command once more, with a loader of TypeScript).
type Chapter = readonly [commands: Readonly<Record<string, string>>, load: () => Promise<RegisterCommand>];

const chapters: readonly Chapter[] = [
  [
    { new: "make a project: an environment or a data set, a hook with its test, and a run" },
    async () => (await import("./new.ts")).registerNew,
  ],
  [
    {
      train: "train the run of a configuration, in a directory of its own",
      resume: "go on with a run from its newest whole checkpoint",
    },
    async () => (await import("./train.ts")).registerTrain,
  ],
  [
    {
      sweep: "train a configuration with other values, and compare the runs by a metric",
      "sweep-run": "",
    },
    async () => (await import("./sweep.ts")).registerSweep,
  ],
  [
    { plan: "a dry run of a configuration: the order of its hooks with reasons, and when each runs" },
    async () => (await import("./plan/command.ts")).registerPlan,
  ],
  [
    { hooks: "the hooks that a configuration can name: built-in ones, and those of installed packages" },
    async () => (await import("./hooks.ts")).registerHooks,
  ],
  [
    { schema: "print the JSON schema of configurations, with which editors complete and check them" },
    async () => (await import("./schema.ts")).registerSchema,
  ],
  [
    { "lr-find": "raise the learning rate until the loss diverges, and print the curve and a rate to try" },
    async () => (await import("./lr-find.ts")).registerFindRate,
  ],
  [
    {
      runs: "the runs of a stats store, newest first",
      show: "what a run did: summary, curves, time of hooks, evaluations, checkpoints, health",
      compare: "runs side by side: outcome, length, metrics, evaluations, and settings in which they differ",
      export: "write a run's metrics to files of another program",
      tail: "print a run's metrics as they come, until it ends; Ctrl-C stops watching",
      why: "why a hook did or did not run in a past run",
    },
    async () => (await import("./runs/command.ts")).registerRuns,
  ],
  [
    { dashboard: "watch, compare and steer runs in a browser" },
    async () => (await import("./dashboard.ts")).registerDashboard,
  ],
  [
    { report: "one HTML file of a run, which works offline" },
    async () => (await import("./report.ts")).registerReport,
  ],
  [
    { predict: "predict the rows of a file with the model of a checkpoint or a run" },
    async () => (await import("./predict.ts")).registerPredict,
  ],
  [
    { generate: "write text with the transformer of a checkpoint or a run" },
    async () => (await import("./generate.ts")).registerGenerate,
  ],
  [
    { evaluate: "play episodes with the policy of a checkpoint and print how good it is" },
    async () => (await import("./evaluate.ts")).registerEvaluate,
  ],
  [
    { replay: "watch a recorded episode, or make a film of it" },
    async () => (await import("./replay/command.ts")).registerReplay,
  ],
  [
    { checkpoint: "look into checkpoints, verify, compare and remove them" },
    async () => (await import("./checkpoint/command.ts")).registerCheckpoint,
  ],
  [
    {
      "prove-resume":
        "train in one go, and again with a kill and a resume, and compare the end states bit for bit",
      "prove-resume-part": "",
    },
    async () => (await import("./prove-resume/command.ts")).registerProveResume,
  ],
  [
    { cluster: "a server for runs on several machines, and who is there" },
    async () => (await import("./cluster/command.ts")).registerCluster,
  ],
  [
    { worker: "make rollouts for a run that is trained on this or another machine" },
    async () => (await import("./worker.ts")).registerWorker,
  ],
  [
    { evaluator: "evaluate checkpoints of a run that is trained on this or another machine" },
    async () => (await import("./evaluator.ts")).registerEvaluator,
  ],
  [
    { engine: "the engines that math runs on: list, install and check them" },
    async () => (await import("./engine/command.ts")).registerEngine,
  ],
  [
    {
      doctor:
        "look at Node, engines, disk, permissions and optional parts, and say how to mend what is wrong",
    },
    async () => (await import("./doctor.ts")).registerDoctor,
  ],
  [
    { completion: "print a script that completes commands, options and files in a shell" },
    async () => (await import("./completion.ts")).registerCompletion,
  ],
];

const called = process.argv.slice(2).find((word) => !word.startsWith("-") && word !== "help");
const isLoaded = ([commands]: Chapter): boolean =>
  called === "completion" || (called !== undefined && Object.hasOwn(commands, called));
const named =
  ([commands]: Chapter): RegisterCommand =>
  (program) => {
    for (const [name, does] of Object.entries(commands)) program.command(name, { hidden: does === "" });
  };
const program = createProgram(
  await Promise.all(chapters.map((chapter) => (isLoaded(chapter) ? chapter[1]() : named(chapter)))),
);
for (const [name, does] of chapters.flatMap(([commands]) => Object.entries(commands)))
  program.commands.find((command) => command.name() === name)?.description(does);
try {
  await program.parseAsync();
} catch (error) {
  console.error(describeFailure(error, program.opts().debug === true));
  // A command may have chosen another.
  process.exitCode ||= 1;
}
