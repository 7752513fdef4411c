import { type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { EspalierError, errorText } from "../core/index.ts";
import { type TypeScriptRuntime, tsxFor } from "../engine/index.ts";

/** The command that runs this program: Node, its own arguments, and the program's file. */
export type Self = readonly [node: string, ...args: string[]];

export const thisProgram = (): Self => [process.execPath, ...process.execArgv, process.argv[1] ?? ""];

/** The command that people type: in a checkout, where it runs from its sources, an npm script. */
export const callName = (self: Self): string =>
  self.at(-1)?.endsWith(".ts") ? "npm run --silent espalier --" : "npx espalier";

/** The command that runs this program so that it can import `file`: as it was called, with a loader if needed. */
export function programFor(file: string, self: Self, runtime?: TypeScriptRuntime): Self {
  const full = resolve(file);
  if (!existsSync(full))
    throw new EspalierError("SETUP_MISSING", `there is no file ${file}`, {
      fix: "give a file that is there: run.yaml, run.json or run.ts, or one that exports a training set-up",
    });
  const [node, ...args] = self;
  // Node's own arguments: the last one is this program's file.
  if (args.slice(0, -1).some((arg) => /\btsx\b/.test(arg))) return self;
  const tsx = tsxFor([full], runtime);
  return tsx === undefined ? self : [node, "--import", tsx, ...args];
}

/**
 * Runs the whole command once more by a program that can import `file`, where this Node cannot: then it gives true, and
 * this process has the exit code of the other and nothing left to do.
 */
export async function ranFor(
  file: string,
  self: Self = thisProgram(),
  args: readonly string[] = process.argv.slice(2),
  runtime?: TypeScriptRuntime,
): Promise<boolean> {
  const program = programFor(file, self, runtime);
  if (program === self) return false;
  process.exitCode = await runAgain(program, args);
  return true;
}

/** The same for the file of the option --module, which is imported here where this Node can. */
export async function ranElsewhere(file: string | undefined): Promise<boolean> {
  if (file === undefined) return false;
  if (!existsSync(resolve(file)))
    throw new EspalierError("MODULE_MISSING", `there is no file ${file}`, {
      fix: "give --module a file that calls registerEnvironment",
    });
  if (await ranFor(file)) return true;
  await importFile(file, "module");
  return false;
}

/** Imports a file that registers environments, or one with a training set-up. */
export async function importFile(file: string, what: "module" | "setup") {
  try {
    return (await import(pathToFileURL(resolve(file)).href)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    if (cause instanceof EspalierError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new EspalierError(
      what === "setup" ? "SETUP_FAILED" : "MODULE_FAILED",
      `${file} could not be imported: ${why}`,
      { fix: "run the file by itself to see where it fails", cause },
    );
  }
}

/** Adds how to register it to the error of an environment that is not registered; `other` is another way. */
export function withModule(cause: unknown, module: string | undefined, other: string): unknown {
  const [, name] = /there is no environment "(.+?)"/.exec(cause instanceof Error ? cause.message : "") ?? [];
  if (!(cause instanceof EspalierError) || cause.code !== "ENVIRONMENT_UNKNOWN" || !name) return cause;
  const registers = `registerEnvironment("${name}", { make })`;
  return new EspalierError(cause.code, errorText(cause), {
    fix:
      module === undefined
        ? `where it is your own, give --module FILE, a file that calls ${registers}: names of one process are not known in another; ${other}`
        : `let ${module} call ${registers}; where it does, it has a copy of Espalier to itself: ` +
          'name it .mts or .mjs, or put "type": "module" into its package.json',
    cause,
  });
}

/** Starts a process that does a part of a command's work by a hidden command, and tells of it in messages. */
export function startChild<Message>(
  [node, ...args]: Self,
  command: string,
  request: object,
  options: SpawnOptions,
) {
  const child = spawn(node, [...args, command, JSON.stringify(request)], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    windowsHide: true,
    ...options,
  });
  const messages: Message[] = [];
  child.on("message", (message: Message) => void messages.push(message));
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-4000);
    });
  /** How it ended: by a signal, with an exit code, or why it did not start. */
  const gone = new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  return { child, messages, gone, output: () => output.trim() };
}

/** Runs the command once more by another program, and gives its exit code. */
async function runAgain([node, ...rest]: Self, args: readonly string[]): Promise<number> {
  const child = spawn(node, [...rest, ...args], { stdio: "inherit" });
  // Ctrl-C reaches both: the other one decides how it ends. SIGTERM reaches this one alone.
  const wait = (): void => undefined;
  const pass = (): void => void child.kill("SIGTERM");
  process.on("SIGINT", wait).on("SIGTERM", pass);
  try {
    const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    // As a shell says it of a program that a signal has ended.
    return code ?? 128 + constants.signals[signal ?? "SIGTERM"];
  } finally {
    process.off("SIGINT", wait).off("SIGTERM", pass);
  }
}
