import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { EspalierError } from "../core/index.ts";
import { type TypeScriptRuntime, tsxFor } from "../engine/index.ts";

/** The command that runs this program: Node, its own arguments, and the program's file. */
export type Self = readonly [node: string, ...args: string[]];

/** This program as it was called. */
export const thisProgram = (): Self => [process.execPath, ...process.execArgv, process.argv[1] ?? ""];

/** The command that people type: in a checkout, where it runs from its sources, an npm script. */
export const callName = (self: Self): string =>
  self.at(-1)?.endsWith(".ts") ? "npm run --silent espalier --" : "npx espalier";

/** The command that runs this program so that it can import `file`: as it was called, with a loader if needed. */
export function programFor(file: string, self: Self, runtime?: TypeScriptRuntime): Self {
  const full = resolve(file);
  if (!existsSync(full))
    throw new EspalierError("SETUP_MISSING", `there is no file ${file}`, {
      fix: "give a file that exports a training set-up",
    });
  const [node, ...args] = self;
  // Node's own arguments: the last one is this program's file.
  if (args.slice(0, -1).some((arg) => /\btsx\b/.test(arg))) return self;
  const tsx = tsxFor([full], runtime);
  return tsx === undefined ? self : [node, "--import", tsx, ...args];
}

/**
 * Imports the file of the option --module, which registers environments. Where this Node cannot import it, the whole
 * command is run once more by one that can: then it gives true, and this process has the exit code of the other and
 * nothing left to do.
 */
export async function ranElsewhere(
  file: string | undefined,
  self: Self,
  args: readonly string[],
): Promise<boolean> {
  const code = file === undefined ? undefined : await loadModule(file, self, args);
  if (code !== undefined) process.exitCode = code;
  return code !== undefined;
}

/** The same for a file: the exit code of the other process, where there was one. */
export async function loadModule(
  file: string,
  self: Self,
  args: readonly string[],
  runtime?: TypeScriptRuntime,
): Promise<number | undefined> {
  if (!existsSync(resolve(file)))
    throw new EspalierError("MODULE_MISSING", `there is no file ${file}`, {
      fix: "give --module a file that calls registerEnvironment",
    });
  const program = programFor(file, self, runtime);
  if (program !== self) return runAgain(program, args);
  try {
    await import(pathToFileURL(resolve(file)).href);
    return undefined;
  } catch (cause) {
    if (cause instanceof EspalierError) throw cause;
    throw new EspalierError(
      "MODULE_FAILED",
      `${file} could not be imported: ${cause instanceof Error ? cause.message : String(cause)}`,
      { fix: "run the file by itself to see where it fails", cause },
    );
  }
}

/** Runs the command once more by another program, and gives its exit code. */
export async function runAgain([node, ...rest]: Self, args: readonly string[]): Promise<number> {
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
