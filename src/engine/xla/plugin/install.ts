import { EspalierError, node } from "../../../core/index.ts";
import { findPlugins, isKind, type Plugin, pluginDirectory, type Surroundings, thisMachine } from "./find.ts";
import { downloadWheel, listFolder } from "./pip.ts";
import { extractLibrary } from "./wheel.ts";

export interface InstallOptions {
  /** Gets each line pip writes, and what happens afterwards. */
  readonly onProgress?: (line: string) => void;
  /** Install again although it is there. */
  readonly force?: boolean;
  readonly signal?: AbortSignal;
}

/** The packages that carry the plugins. Their versions are fixed, so that everyone runs the same compiler. */
const packages = {
  cpu: { name: "xla-cpu-pjrt", version: "0.0.1", member: "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so" },
  cuda: { name: "jax-cuda13-pjrt", version: "0.11.2", member: "jax_plugins/xla_cuda13/xla_cuda_plugin.so" },
} as const;

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
  const { name, version } = packages[kind];
  const root = pluginDirectory(surroundings);
  const folder = node.path.join(root, `${name}-${version}`);
  if (options.force || !installed(folder, surroundings)) {
    await node.fs.promises.mkdir(root, { recursive: true });
    // Beside its final place, so that it gets there whole, by one rename.
    const work = await node.fs.promises.mkdtemp(node.path.join(root, ".install-"));
    try {
      await build(kind, work, options, surroundings);
      await replace(folder, node.path.join(work, "plugin"), node.path.join(work, "old"));
    } finally {
      await node.fs.promises.rm(work, { recursive: true, force: true });
    }
  }
  const plugin = installed(folder, surroundings);
  if (plugin) return plugin;
  throw new EspalierError("PLUGIN_NOT_FOUND", `the plugin was installed in ${folder} and then vanished`);
}

/** Re-reads a plugin and compares it with the sha256 noted when it was installed. */
export async function verifyPlugin(
  plugin: Plugin,
): Promise<{ readonly sha256: string; readonly matches?: boolean }> {
  const sha256 = await hashFile(plugin.path);
  const record = readRecord(node.path.dirname(plugin.path));
  return record ? { sha256, matches: sha256 === record.sha256 } : { sha256 };
}

function installed(folder: string, surroundings: Surroundings): Plugin | undefined {
  return findPlugins({ ...surroundings, env: { ...surroundings.env, ESPALIER_XLA_PLUGIN: undefined } }).find(
    (plugin) => plugin.source === "cache" && node.path.dirname(plugin.path) === folder,
  );
}

/** Puts the plugin and its record into `work/plugin`. */
async function build(
  kind: "cpu" | "cuda",
  work: string,
  { onProgress, signal }: InstallOptions,
  { env }: Surroundings,
): Promise<void> {
  const { name, version, member } = packages[kind];
  await downloadWheel(`${name}==${version}`, work, { onProgress, signal, env });
  const wheel = (await node.fs.promises.readdir(work)).find((file) => file.endsWith(".whl"));
  if (!wheel)
    throw new EspalierError("PIP_FAILED", `pip downloaded no wheel of ${name} ${version}`, {
      fix: `see whether \`pip download --no-deps ${name}==${version}\` finds one for this system`,
    });
  onProgress?.(`Unpacking ${wheel}`);
  const made = node.path.join(work, "plugin");
  await node.fs.promises.mkdir(made);
  const file = member.slice(member.lastIndexOf("/") + 1);
  const { bytes, sha256 } = await extractLibrary(
    node.path.join(work, wheel),
    member,
    node.path.join(made, file),
    signal,
  );
  const record: PluginRecord = { kind, file, package: name, version, bytes, sha256 };
  await node.fs.promises.writeFile(node.path.join(made, RECORD_NAME), `${JSON.stringify(record, null, 2)}\n`);
  onProgress?.(`Verified ${file}: ${bytes} bytes, sha256 ${sha256}`);
}

/** Moves `made` to `folder`. What is there goes aside first; processes that use it keep what they have open. */
async function replace(folder: string, made: string, aside: string): Promise<void> {
  await node.fs.promises.rename(folder, aside).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  await node.fs.promises.rename(made, folder);
}

/** Contents of `plugin.json` beside an installed plugin. */
export interface PluginRecord {
  readonly kind: "cpu" | "cuda";
  readonly file: string;
  readonly package: string;
  readonly version: string;
  readonly bytes: number;
  readonly sha256: string;
}

export const RECORD_NAME = "plugin.json";

/** The installed plugins. One whose file is gone or of the wrong length is left out. */
export function cachedPlugins(surroundings: Surroundings): readonly Plugin[] {
  const root = pluginDirectory(surroundings);
  return listFolder(root)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) => {
      const folder = node.path.join(root, name);
      const record = readRecord(folder);
      if (!record || sizeOf(node.path.join(folder, record.file)) !== record.bytes) return [];
      return [{ kind: record.kind, path: node.path.join(folder, record.file), source: "cache" } as const];
    })
    .sort((a, b) => Number(a.kind === "cpu") - Number(b.kind === "cpu"));
}

/** The record in a folder, or undefined where there is none that can be understood. */
export function readRecord(folder: string): PluginRecord | undefined {
  try {
    const record = JSON.parse(
      node.fs.readFileSync(node.path.join(folder, RECORD_NAME), "utf8"),
    ) as Partial<PluginRecord>;
    const whole =
      isKind(record.kind) &&
      typeof record.file === "string" &&
      typeof record.bytes === "number" &&
      typeof record.sha256 === "string";
    return whole ? (record as PluginRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** SHA-256 of a file, in hexadecimal. */
export async function hashFile(path: string): Promise<string> {
  const hash = node.crypto.createHash("sha256");
  for await (const chunk of node.fs.createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}

function sizeOf(file: string): number | undefined {
  try {
    return node.fs.statSync(file).size;
  } catch {
    return undefined;
  }
}
