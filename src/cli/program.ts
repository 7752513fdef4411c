import { inspect } from "node:util";
import { Command } from "commander";
import pc from "picocolors";
import manifest from "../../package.json" with { type: "json" };
import { EspalierError, printableText } from "../core/index.ts";

/** Adds one command to the program. Each lives in a file of its own. */
export type RegisterCommand = (program: Command) => void;

/** The `espalier` program with the given commands. */
export function createProgram(commands: readonly RegisterCommand[]): Command {
  const program = new Command("espalier")
    .description("Trains models and agents in TypeScript at XLA speed.")
    .version(manifest.version, "-v, --version", "print the version")
    .option("--debug", "print the stack and the causes of an error")
    .showHelpAfterError("(espalier --help says what there is)")
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
  return program;
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
