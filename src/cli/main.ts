#!/usr/bin/env node
import { registerEngine } from "./engine/command.ts";
import { createProgram, type RegisterCommand } from "./program.ts";
import { describeFailure } from "./report.ts";

const commands: readonly RegisterCommand[] = [(program) => registerEngine(program)];

const program = createProgram(commands);
try {
  await program.parseAsync();
} catch (error) {
  console.error(describeFailure(error, program.opts().debug === true));
  process.exitCode = 1;
}
