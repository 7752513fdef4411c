import { inspect } from "node:util";
import { Command } from "commander";
import pc from "picocolors";
import manifest from "../../package.json" with { type: "json" };
import { EspalierError, printableText } from "../core/index.ts";

/** Adds one command to the program. Each lives in a file of its own. */
export type RegisterCommand = (program: Command) => void;

/**
 * The `espalier` program with the given commands.
 *
 * @example
 * ```ts
 * await createProgram([registerEngine]).parseAsync(["engine", "list"], { from: "user" });
 * ```
 */
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
  espalier new DIR               a project with an environment or data, a hook, a test and a run.yaml
  espalier train FILE            the run of a configuration, in a directory of its own
  espalier resume RUN            the same run, from its newest checkpoint
  espalier sweep FILE            many runs of it, with values drawn or listed
  espalier doctor                whether everything here works, and how to mend what does not
  espalier plan FILE             the order of a configuration's hooks, and when each runs
  espalier hooks                 the hooks that a configuration can name
  espalier engine list           which engines are here, and which one runs
  espalier engine install cpu    get the XLA engine for this machine's CPU
  espalier checkpoint verify DIR whether every checkpoint there is whole
  espalier prove-resume FILE     whether a killed and resumed run equals an uninterrupted one
  espalier runs                  the runs that were filed, and how they went
  espalier show RUN              a run's curves, the time its hooks took, its health
  espalier compare RUN RUN       runs side by side, and the settings in which they differ
  espalier evaluate CHECKPOINT   how good a policy is, by playing episodes with it
  espalier replay FILE           a recorded episode, in the terminal or as a film
  espalier cluster up            a server for runs on several machines, and who takes part in them
  espalier worker --run NAME     rollouts for a run that is trained elsewhere
  espalier evaluator --run NAME  evaluations of its checkpoints
  espalier completion bash       a script that completes commands and options in a shell
  espalier help engine           what a command takes`,
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
  if (error instanceof EspalierError) return `${label} ${error.message}`;
  const message = error instanceof Error ? error.message : String(error);
  return `${label} ${printableText(message)}\n  this is not a mistake we foresaw: run it again with --debug to see where it happened`;
}
