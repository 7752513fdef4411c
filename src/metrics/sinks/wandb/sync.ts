import { spawn } from "node:child_process";
import { printableText } from "../../../core/index.ts";

/** How `wandb sync` of a run's directory went. */
export interface WandbSyncOutcome {
  readonly directory: string;
  readonly outcome: "sent" | "failed" | "notFound";
  /** The exit code of `wandb`; null where a signal ended it, or where it was not found. */
  readonly code: number | null;
  /** The last lines that it printed. */
  readonly said: string;
  /** The same in words, with what to do where it failed. */
  readonly text: string;
}

/** As much of what it prints as is kept, and the lines of that which are told. */
const mostCharacters = 8000;
const mostLines = 5;

/**
 * Runs the user's own `wandb sync DIRECTORY`, in the background. Never fails: how it went is the result. The process
 * stays until it is over.
 */
export function syncRun(directory: string): Promise<WandbSyncOutcome> {
  return new Promise((resolve) => {
    const end = (outcome: WandbSyncOutcome["outcome"], code: number | null, said: string, text: string) =>
      resolve({ directory, outcome, code, said, text: printableText(text) });
    let printed = "";
    const hear = (chunk: string): void => {
      printed = (printed + chunk).slice(-mostCharacters);
    };
    const child = spawn("wandb", ["sync", directory], {
      stdio: ["ignore", "pipe", "pipe"],
      // On Windows commands of Python packages are scripts.
      shell: process.platform === "win32",
    });
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", hear);
    child.once("error", (error: NodeJS.ErrnoException) => {
      const missing = error.code === "ENOENT";
      const why = missing ? "there is no command wandb" : error.message;
      const fix = missing ? "install it (pip install wandb) and" : "mend that and";
      end(
        missing ? "notFound" : "failed",
        null,
        "",
        `wandb sync: ${why}\n  fix: ${fix} run: wandb sync ${directory}`,
      );
    });
    child.once("close", (code, signal) => {
      const said = printed.trim().split("\n").slice(-mostLines).join("\n");
      if (code === 0) return end("sent", 0, said, `wandb sync: ${directory} is sent`);
      const how = code === null ? `was ended by ${signal}` : `failed with exit code ${code}`;
      const lines = said === "" ? "" : `\n  ${said.replaceAll("\n", "\n  ")}`;
      end(
        "failed",
        code,
        said,
        `wandb sync ${how}:${lines}\n  fix: mend that and run: wandb sync ${directory}`,
      );
    });
  });
}
