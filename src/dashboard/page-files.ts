import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The directory of the page's files: an `index.html` and its assets. In the package it lies beside the code; in a checkout
 * it is built once for each state of its sources.
 */
export function pageDirectory(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const root = packageRoot(here);
  if (!import.meta.url.endsWith(".ts")) return join(root, "dist", "dashboard", "page");
  const sources = join(here, "page");
  const changed = Math.max(
    ...readdirSync(sources).map((name) => statSync(join(sources, name)).mtimeMs),
    statSync(join(here, "api.ts")).mtimeMs,
  );
  // A directory of its own, complete from the beginning: other processes may serve and build other states.
  const [all, name] = [join(root, ".cache", "dashboard-page"), String(Math.round(changed))];
  const built = join(all, name);
  if (existsSync(built)) return built;
  const unfinished = `${built}.${process.pid}`;
  execFileSync(process.execPath, [join(root, "scripts", "build-page.mjs"), unfinished], { stdio: "inherit" });
  try {
    renameSync(unfinished, built);
  } catch {
    rmSync(unfinished, { recursive: true }); // Another process was faster.
  }
  for (const old of readdirSync(all)) {
    const { mtimeMs = Date.now() } = statSync(join(all, old), { throwIfNoEntry: false }) ?? {};
    if (old !== name && Date.now() - mtimeMs > 3_600_000)
      rmSync(join(all, old), { recursive: true, force: true });
  }
  return built;
}

/** The nearest directory above with a package.json: chunks of a build may lie anywhere in dist. */
function packageRoot(from: string): string {
  for (let at = from; ; at = dirname(at)) {
    if (existsSync(join(at, "package.json"))) return at;
    if (dirname(at) === at) throw new Error(`no package.json above ${from}`);
  }
}
