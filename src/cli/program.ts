import { inspect } from "node:util";
import { Command } from "commander";
import pc from "picocolors";
import manifest from "../../package.json" with { type: "json" };
import { didYouMean, EspalierError, printableText } from "../core/index.ts";

/** Adds one command to the program. Each lives in a file of its own. */
export type RegisterCommand = (program: Command) => void;

/** The `espalier` program with the given commands. */
export function createProgram(commands: readonly RegisterCommand[]): Command {
  const program = new Command("espalier")
    .description("Trains models and agents in TypeScript at XLA speed.")
    .version(manifest.version, "-v, --version", "print the version")
    .option("--debug", "print the stack and the causes of an error")
    .addHelpText(
      "after",
      `
Examples:
  espalier new my-agent                     a project that trains an agent
  espalier train run.yaml                   its run; Ctrl-C ends it with a checkpoint
  espalier resume runs/my-agent-1118-3fa2   and this goes on from there
  espalier show my-agent                    what it did
  espalier engine install cpu               get the XLA engine for this machine's CPU
  espalier help train                       what a command takes`,
    );
  for (const register of commands) register(program);
  // Commander's own shows the help of the program where it knows no such command, and of a group instead of its part.
  program
    .helpCommand(false)
    .command("help")
    .description("what a command takes")
    .argument("[command...]")
    .action((words: readonly string[]) => {
      let command = program;
      for (const word of words) {
        const inner = command.createHelp().visibleCommands(command);
        const next = inner.find((each) => each.name() === word);
        const names = inner.map((each) => each.name());
        command = next ?? command.error(`error: unknown command '${word}'${didYouMean(word, names)}`);
      }
      command.help();
    });
  addHints(program, program.name());
  return program;
}

/** Names the help of each command below its errors. */
function addHints(command: Command, typed: string): void {
  const says = command.commands.length > 0 ? "there is" : "it takes";
  command.showHelpAfterError(`(${typed} --help says what ${says})`);
  for (const inner of command.commands) addHints(inner, `${typed} ${inner.name()}`);
}

/**
 * The text that a failed command prints. A user's mistake gets the message and the fix; any other error is ours, and the
 * text says how to see more. With `debug`, the stack and the causes follow.
 */
export function describeFailure(error: unknown, debug: boolean): string {
  const label = pc.red("error:");
  if (debug) return `${label} ${printableText(inspect(error, { depth: 6 }))}`;
  const known = error instanceof EspalierError ? error : fileFailure(error);
  if (known) return `${label} ${known.message}`;
  const message = error instanceof Error ? error.message : String(error);
  return `${label} ${printableText(message)}\n  this is not a mistake we foresaw: run it again with --debug to see where it happened`;
}

/** The error of a path, or of an output, that the system does not let be used. */
function fileFailure(error: unknown): EspalierError | undefined {
  const { code, syscall, path, message } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === undefined || (path === undefined && syscall !== "write")) return undefined;
  return new EspalierError("FILE_FAILED", printableText(message), {
    fix: "give a path that can be read or written, in a directory that is there, or make room on the disk",
  });
}
