import { EspalierError } from "../../../core/index.ts";
import { findPlugins, isKind, type Plugin, pluginDirectory, type Surroundings, thisMachine } from "./find.ts";
import { type InstallOptions, installedFiles, installPackageFile, verifyFile } from "./package-file.ts";

/** The packages that carry the plugins. Their versions are fixed, so that everyone runs the same compiler. */
const packages = {
  cpu: { name: "xla-cpu-pjrt", version: "0.0.1", member: "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so" },
  cuda: { name: "jax-cuda13-pjrt", version: "0.11.2", member: "jax_plugins/xla_cuda13/xla_cuda_plugin.so" },
} as const;

const record = "plugin.json";

/**
 * Gets a plugin with the user's own pip, checks it and keeps it in the user's cache directory.
 *
 * @example
 * ```ts
 * const plugin = await installPlugin("cpu", { onProgress: (line) => process.stderr.write(`${line}\n`) });
 * ```
 */
export async function installPlugin(
  kind: "cpu" | "cuda",
  options: InstallOptions = {},
  surroundings: Surroundings = thisMachine(),
): Promise<Plugin> {
  const wanted = {
    ...packages[kind],
    kind,
    record,
    directory: pluginDirectory(surroundings),
    withoutPip: "name a plugin file with ESPALIER_XLA_PLUGIN; the wasm engine needs neither",
  };
  const path = await installPackageFile(wanted, options, surroundings);
  const env = { ...surroundings.env, ESPALIER_XLA_PLUGIN: undefined };
  const plugin = findPlugins({ ...surroundings, env }).find((one) => one.path === path);
  if (plugin) return plugin;
  throw new EspalierError("PLUGIN_NOT_FOUND", `${path} was installed and then vanished`);
}

/** Re-reads a plugin and compares it with the sha256 noted when it was installed. */
export const verifyPlugin = (plugin: Plugin): ReturnType<typeof verifyFile> =>
  verifyFile(plugin.path, record);

/** The installed plugins, those of CPUs last. */
export const cachedPlugins = (surroundings: Surroundings): readonly Plugin[] =>
  installedFiles(pluginDirectory(surroundings), record)
    .flatMap(({ kind, path }) => (isKind(kind) ? [{ kind, path, source: "cache" } as const] : []))
    .sort((a, b) => Number(a.kind === "cpu") - Number(b.kind === "cpu"));
