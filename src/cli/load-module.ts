import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { EspalierError } from "../core/index.ts";
import { programFor, type Runtime } from "./prove-resume/typescript.ts";
import type { Self } from "./self.ts";

/**
 * Imports the file of the option --module, which registers environments, where it is given. Where this Node cannot
 * import it, the whole command is run once more by one that can. Says whether that has been done: this process then has
 * the exit code of the other, and nothing left to do.
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
  runtime?: Runtime,
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

async function runAgain([node, ...rest]: Self, args: readonly string[]): Promise<number> {
  // Ctrl-C reaches both: the other one says how it ends.
  const wait = (): void => undefined;
  process.on("SIGINT", wait);
  try {
    const child = spawn(node, [...rest, ...args], { stdio: "inherit" });
    const [code] = (await once(child, "close")) as [number | null];
    return code ?? 1;
  } finally {
    process.off("SIGINT", wait);
  }
}
