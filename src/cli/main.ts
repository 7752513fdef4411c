#!/usr/bin/env node
import { registerCheckpoint } from "./checkpoint/command.ts";
import { registerCluster } from "./cluster/command.ts";
import { registerCompletion } from "./completion.ts";
import { registerDoctor } from "./doctor.ts";
import { registerEngine } from "./engine/command.ts";
import { registerEvaluate } from "./evaluate.ts";
import { registerEvaluator } from "./evaluator.ts";
import { registerGenerate } from "./generate.ts";
import { registerHooks } from "./hooks.ts";
import { registerFindRate } from "./lr-find.ts";
import { registerNew } from "./new.ts";
import { registerPlan } from "./plan/command.ts";
import { registerPredict } from "./predict.ts";
import { createProgram, describeFailure, type RegisterCommand } from "./program.ts";
import { registerProveResume } from "./prove-resume/command.ts";
import { registerReplay } from "./replay/command.ts";
import { registerRuns } from "./runs/command.ts";
import { registerSchema } from "./schema.ts";
import { registerSweep } from "./sweep.ts";
import { registerTrain } from "./train.ts";
import { registerWorker } from "./worker.ts";

// The `espalier` program. Each command registers itself and has its chapter:
//
//   train FILE | resume RUN                   train.ts      a run from a file: ../config/
//   sweep FILE                                 sweep.ts      runs of one file with other values, each in a child process
//   plan FILE                                  plan/         timeline.ts asks schedules when hooks run
//   engine list | install | check             engine/       list.ts starts every plugin in a process of its own
//   checkpoint inspect | verify | diff | prune checkpoint/  locate.ts finds out what a path is
//   prove-resume FILE                          prove-resume/ command -> prove.ts -> process.ts -> part.ts in child processes
//   runs | show | compare | export | tail | why runs/        read a stats store
//   new DIR                                    new.ts        a project from examples/templates/
//   predict | generate CHECKPOINT|RUN          predict.ts, generate.ts
//   evaluate CHECKPOINT                        evaluate.ts
//   evaluator --run NAME                       evaluator.ts
//   lr-find FILE                               lr-find.ts
//   replay FILE                                replay/
//   hooks                                      hooks.ts      built-in ones, and those of installed packages
//   doctor                                     doctor.ts     what is here, and what is to be mended
//   completion bash | zsh | fish               completion.ts a script made from this program
//   cluster up | status | forget | install     cluster/      up.ts starts a NATS server and watches it
//
// Shared: options.ts (typed numbers), terminal.ts (output, colours, Ctrl-C), text.ts (tables, times), run-again.ts
// (the command once more, with a loader of TypeScript).
const commands: readonly RegisterCommand[] = [
  (program) => registerTrain(program),
  (program) => registerSchema(program),
  (program) => registerSweep(program),
  (program) => registerPlan(program),
  (program) => registerEngine(program),
  (program) => registerCheckpoint(program),
  (program) => registerProveResume(program),
  (program) => registerRuns(program),
  (program) => registerNew(program),
  (program) => registerPredict(program),
  (program) => registerGenerate(program),
  (program) => registerEvaluate(program),
  (program) => registerEvaluator(program),
  (program) => registerFindRate(program),
  (program) => registerReplay(program),
  (program) => registerWorker(program),
  (program) => registerCluster(program),
  (program) => registerHooks(program),
  (program) => registerDoctor(program),
  (program) => registerCompletion(program),
];

const program = createProgram(commands);
try {
  await program.parseAsync();
} catch (error) {
  console.error(describeFailure(error, program.opts().debug === true));
  // A command may have chosen another.
  process.exitCode ||= 1;
}
