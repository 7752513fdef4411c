import { node } from "../../../core/index.ts";
import { cachedPlugins } from "./install.ts";
import { cudaLibraryPaths } from "./libraries.ts";
import { cacheDirectory } from "./package-file.ts";
import { listFolder, sitePackages } from "./pip.ts";

export type PluginKind = "cpu" | "cuda" | "tpu";

/** An XLA plugin on this machine. */
export interface Plugin {
  readonly kind: PluginKind;
  readonly path: string;
  /** Source of the plugin. */
  readonly source: "environment" | "option" | "cache" | "python";
  /** Folders with libraries that the plugin needs and may not find by itself. */
  readonly libraryPaths?: readonly string[];
}

/** The kind that a plugin's path suggests; CPU where it says nothing. */
export function guessKind(path: string): PluginKind {
  if (/tpu/i.test(node.path.basename(path))) return "tpu";
  return /cuda|gpu/i.test(path.split("/").slice(-2).join("/")) ? "cuda" : "cpu";
}

export function isKind(text: string | undefined): text is PluginKind {
  return text === "cpu" || text === "cuda" || text === "tpu";
}

/** The user's machine as the search for plugins sees it; tests pass their own. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

export function thisMachine(): Surroundings {
  return { env: process.env, home: node.os.homedir() };
}

/** Directory of installed plugins. */
export const pluginDirectory = (surroundings: Surroundings): string =>
  node.path.join(cacheDirectory(surroundings), "plugins");

/** Directories of Python packages that hold plugins, preferred ones first. */
const inPackages: readonly (readonly [PluginKind, string])[] = [
  ["cuda", "jax_plugins/xla_cuda13"],
  ["cuda", "jax_plugins/xla_cuda12"],
  ["cuda", "xla_plugins/xla_cuda13_pjrt"],
  ["cuda", "xla_plugins/xla_cuda12_pjrt"],
  ["tpu", "libtpu"],
  ["cpu", "xla_plugins/xla_cpu_pjrt"],
];

/**
 * The plugins on this machine: the one that ESPALIER_XLA_PLUGIN names, then installed ones, then those of
 * Python packages. Reads folders only: it loads nothing and starts nothing.
 *
 * @example
 * ```ts
 * const cpu = findPlugins().find((plugin) => plugin.kind === "cpu");
 * ```
 */
export function findPlugins(surroundings: Surroundings = thisMachine()): readonly Plugin[] {
  const { env } = surroundings;
  const sites = sitePackages(surroundings);
  const found: Plugin[] = [];
  if (env.ESPALIER_XLA_PLUGIN) {
    const kind = env.ESPALIER_XLA_PLUGIN_KIND;
    const path = env.ESPALIER_XLA_PLUGIN;
    found.push({ kind: isKind(kind) ? kind : guessKind(path), path, source: "environment" });
  }
  found.push(...cachedPlugins(surroundings));
  for (const site of sites) found.push(...pluginsIn(site));
  return withoutRepeats(found).map((plugin) => withLibraries(plugin, sites));
}

/** A plugin at a path that the caller gives. */
export function pluginAt(path: string, kind: PluginKind = guessKind(path)): Plugin {
  return withLibraries({ kind, path, source: "option" }, sitePackages(thisMachine()));
}

function pluginsIn(site: string): readonly Plugin[] {
  return inPackages.flatMap(([kind, folder]) =>
    listFolder(node.path.join(site, folder))
      .filter((name) => name.endsWith(".so"))
      .map((name) => ({ kind, path: node.path.join(site, folder, name), source: "python" }) as const),
  );
}

/** One plugin may be reached by several ways; the first one counts. */
function withoutRepeats(plugins: readonly Plugin[]): readonly Plugin[] {
  const seen = new Set<string>();
  return plugins.filter(({ path }) => {
    const real = node.fs.existsSync(path) ? node.fs.realpathSync(path) : path;
    if (seen.has(real)) return false;
    seen.add(real);
    return true;
  });
}

function withLibraries(plugin: Plugin, sites: readonly string[]): Plugin {
  if (plugin.kind !== "cuda") return plugin;
  const libraryPaths = cudaLibraryPaths(sites, plugin.path);
  return libraryPaths.length === 0 ? plugin : { ...plugin, libraryPaths };
}
