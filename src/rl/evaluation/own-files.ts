import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { EspalierError } from "../../core/index.ts";
import { tsxFor } from "../../engine/index.ts";

const isTypeScript = (file: string): boolean => /\.[cm]?tsx?$/.test(file);
/** Whether this runs from its sources, as in a checkout. */
const fromSource = isTypeScript(import.meta.url);

/** The package's own folder. */
function packageFolder(): string {
  try {
    return join(createRequire(import.meta.url).resolve("espalier/package.json"), "..");
  } catch (cause) {
    throw new EspalierError(
      "PACKAGE_MISSING",
      "the package espalier cannot be found, which evaluators are started from",
      { fix: "leave the package espalier out of the bundle, so that others can load it", cause },
    );
  }
}

/** The file that a thread's work is in: beside this one in a checkout, and in the package once it is built. */
export function threadModule(): string {
  if (fromSource) return new URL("./thread-main.ts", import.meta.url).href;
  return pathToFileURL(join(packageFolder(), "dist", "rl", "evaluation", "thread-main.js")).href;
}

/** How to run the `espalier` program: Node, and its arguments. */
export function espalierProgram(): readonly string[] {
  const folder = packageFolder();
  if (!fromSource) return [process.execPath, join(folder, "dist", "cli", "main.js")];
  const main = join(folder, "src", "cli", "main.ts");
  const loader = tsxFor([pathToFileURL(main).href]);
  return [process.execPath, ...(loader === undefined ? [] : ["--import", loader]), main];
}
