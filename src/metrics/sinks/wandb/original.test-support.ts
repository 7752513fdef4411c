import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { PythonReader, pythonWith } from "../python.test-support.ts";

type Values = Readonly<Record<string, unknown>>;

/** A record as W&B's reader prints it. */
export interface FoundRecord {
  readonly num: number;
  readonly type: string;
  readonly run?: { readonly config?: { readonly update: Values } } & Values;
  readonly metric?: Values;
  readonly history?: { readonly item: Values; readonly step: { readonly num: number } };
  readonly summary?: { readonly update: Values };
  readonly exit?: Values;
  readonly artifact?: { readonly manifest: { readonly contents: readonly Values[] } & Values } & Values;
  readonly config?: { readonly update: Values };
}

export interface WandbPrograms {
  read(path: string): Promise<readonly FoundRecord[]>;
  /** `wandb sync` of these directories, one command each, to a server at this address. Gives what it says. */
  sync(address: string, ...directories: readonly string[]): Promise<string>;
  close(): void;
}

/** W&B's own programs, where a Python has them. */
export function findOriginal(): WandbPrograms | { readonly missing: string } {
  const found = pythonWith("wandb", "from wandb.util import get_core_path; get_core_path()");
  if ("missing" in found) return found;
  const home = mkdtempSync(join(tmpdir(), "espalier-wandb-home-"));
  const reader = new PythonReader(found.python, "wandb_files.py");
  return {
    async read(path) {
      const [first] = await reader.ask<readonly (readonly FoundRecord[])[]>(path);
      return first ?? [];
    },
    async sync(address, ...directories) {
      const env = {
        ...process.env,
        HOME: home,
        WANDB_BASE_URL: address,
        WANDB_API_KEY: "a".repeat(40),
        WANDB_ERROR_REPORTING: "false",
        NO_PROXY: "127.0.0.1",
      };
      const said: string[] = [];
      for (const directory of directories) {
        const args = ["-m", "wandb", "sync", directory];
        const { stdout, stderr } = await promisify(execFile)(found.python, args, { env, cwd: home });
        said.push(stdout, stderr);
      }
      return said.join("");
    },
    close() {
      reader.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
