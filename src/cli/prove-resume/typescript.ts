import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { EspalierError } from "../../core/index.ts";
import type { Self } from "../self.ts";

/** What decides whether a Node can import TypeScript. */
export interface Runtime {
  readonly version: string;
  /** Whether this Node strips types by itself. */
  readonly stripsTypes: boolean;
  /** Where `tsx` is, as seen from a file. */
  readonly findTsx: (file: string) => string | undefined;
}

export const thisRuntime = (): Runtime => ({
  version: process.versions.node,
  stripsTypes: Boolean((process.features as { readonly typescript?: unknown }).typescript),
  findTsx: (file) => {
    try {
      return pathToFileURL(createRequire(pathToFileURL(file)).resolve("tsx")).href;
    } catch {
      return undefined;
    }
  },
});

/** How to run this program so that it can import `file`: as it was called, with a loader where one is needed. */
export function programFor(file: string, self: Self, runtime: Runtime = thisRuntime()): Self {
  const full = resolve(file);
  if (!existsSync(full))
    throw new EspalierError("SETUP_MISSING", `there is no file ${file}`, {
      fix: "give a file that exports a training set-up",
    });
  const [node, ...args] = self;
  if (!/\.[cm]?tsx?$/.test(full) || runtime.stripsTypes) return self;
  // Node's own arguments: the last one is this program's file.
  if (args.slice(0, -1).some((arg) => /\btsx\b/.test(arg))) return self;
  const tsx = runtime.findTsx(full);
  if (tsx) return [node, "--import", tsx, ...args];
  throw new EspalierError("TYPESCRIPT_UNSUPPORTED", `Node ${runtime.version} cannot import ${file}`, {
    fix: "use Node 22.18 or newer, or `npm install --save-dev tsx` beside the file, or give JavaScript",
  });
}
