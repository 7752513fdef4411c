import { homedir } from "node:os";
import { join } from "node:path";

/** The user's machine as the search for plugins sees it; tests pass their own. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

export function thisMachine(): Surroundings {
  return { env: process.env, home: homedir() };
}

/** Directory of installed plugins: ESPALIER_CACHE, or `espalier` in the user's cache directory. */
export function pluginDirectory({ env, home }: Surroundings): string {
  const cache = env.ESPALIER_CACHE || join(env.XDG_CACHE_HOME || join(home, ".cache"), "espalier");
  return join(cache, "plugins");
}
