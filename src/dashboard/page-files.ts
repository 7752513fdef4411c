import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The directory of the page's files: an `index.html` and its assets. In the package it lies beside the code; in a checkout
 * it is built when its sources are newer than what was built last.
 */
export function pageDirectory(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  if (!import.meta.url.endsWith(".ts")) return join(packageRoot(here), "dist", "dashboard", "page");
  const root = packageRoot(here);
  const [sources, built] = [join(here, "page"), join(root, ".cache", "dashboard-page")];
  const document = join(built, "index.html");
  const changed = Math.max(
    ...readdirSync(sources).map((name) => statSync(join(sources, name)).mtimeMs),
    statSync(join(here, "api.ts")).mtimeMs,
  );
  if (!existsSync(document) || statSync(document).mtimeMs < changed)
    execFileSync(process.execPath, [join(root, "scripts", "build-page.mjs"), built], { stdio: "inherit" });
  return built;
}

/** The nearest directory above with a package.json: chunks of a build may lie anywhere in dist. */
function packageRoot(from: string): string {
  for (let at = from; ; at = dirname(at)) {
    if (existsSync(join(at, "package.json"))) return at;
    if (dirname(at) === at) throw new Error(`no package.json above ${from}`);
  }
}
