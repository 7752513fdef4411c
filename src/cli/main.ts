#!/usr/bin/env node
import { registerCheckpoint } from "./checkpoint/command.ts";
import { registerEngine } from "./engine/command.ts";
import { registerEvaluate } from "./evaluate.ts";
import { createProgram, describeFailure, type RegisterCommand } from "./program.ts";
import { registerProveResume } from "./prove-resume/command.ts";
import { registerReplay } from "./replay/command.ts";
import { registerRuns } from "./runs/command.ts";

const commands: readonly RegisterCommand[] = [
  (program) => registerEngine(program),
  (program) => registerCheckpoint(program),
  (program) => registerProveResume(program),
  (program) => registerRuns(program),
  (program) => registerEvaluate(program),
  (program) => registerReplay(program),
];

const program = createProgram(commands);
try {
  await program.parseAsync();
} catch (error) {
  console.error(describeFailure(error, program.opts().debug === true));
  // A command may have chosen another.
  process.exitCode ||= 1;
}
