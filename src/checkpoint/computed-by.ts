import own from "../../package.json" with { type: "json" };
import { hex, node, sha256 } from "../core/index.ts";
import { type Device, findPlugins, type Mesh } from "../engine/index.ts";
import type { Json } from "./json.ts";
import { hashFile } from "./store/file-threads.ts";

/** The engine, machine and versions that computed a state: everything that may change the bits of later steps. */
export interface ComputedBy {
  readonly engine: string;
  readonly device: string;
  /** The devices that trained together, where there were several. */
  readonly devices?: Mesh;
  /** The kernels: an XLA plugin's file and its hash, or jax-js. */
  readonly plugin: { readonly name: string; readonly sha256: string | null };
  /** The processor's instruction sets, by which XLA chooses its code. */
  readonly cpu: { readonly model: string; readonly features: string };
  readonly threads: number;
  readonly compileOptions: Json;
  readonly platform: string;
  readonly v8: string;
  /** For people: these two are not compared. */
  readonly node: string;
  readonly espalier: string;
}

/** Describes the computation on this device, in this process. */
export async function computedBy(device: Device | undefined, compileOptions: Json = {}): Promise<ComputedBy> {
  const flags = process.env.XLA_FLAGS;
  return {
    engine: device?.engine ?? "none",
    device: device?.description ?? "none",
    ...(device?.mesh && { devices: device.mesh }),
    plugin: await pluginOf(device),
    cpu: cpu(),
    threads: node.os.availableParallelism(),
    compileOptions:
      flags && device?.engine === "xla" ? { given: compileOptions, XLA_FLAGS: flags } : compileOptions,
    platform: `${process.platform}-${process.arch}`,
    v8: process.versions.v8,
    node: process.versions.node,
    espalier: own.version,
  };
}

/** The members that are compared, apart from `devices`. */
const compared = [
  "engine",
  "device",
  "plugin",
  "cpu",
  "threads",
  "compileOptions",
  "platform",
  "v8",
] as const satisfies readonly (keyof ComputedBy)[];

/** Every difference that may change bits, in words. */
export function computedByDifferences(
  saved: ComputedBy,
  present: ComputedBy,
  keys: readonly (keyof ComputedBy)[] = compared,
): readonly string[] {
  return keys.flatMap((key) => {
    const one = key === "devices" ? { count: 1, shardOptimizer: false } : undefined;
    const [a, b] = [JSON.stringify(saved[key] ?? one), JSON.stringify(present[key] ?? one)];
    return a === b ? [] : [`computed by: ${key} is ${a} in the checkpoint and ${b} here`];
  });
}

async function pluginOf(device: Device | undefined): Promise<ComputedBy["plugin"]> {
  if (device?.engine !== "xla")
    return { name: device ? `@jax-js/jax ${own.dependencies["@jax-js/jax"]}` : "none", sha256: null };
  const plugins = findPlugins();
  const plugin = plugins.find(({ kind }) => kind === device.kind) ?? plugins[0];
  if (!plugin) return { name: "unknown", sha256: null };
  const sha256 = hashes.get(plugin.path) ?? hashFile(plugin.path);
  hashes.set(plugin.path, sha256);
  return { name: node.path.basename(plugin.path), sha256: await sha256 };
}

/** A plugin is hundreds of megabytes and does not change while it is loaded. */
const hashes = new Map<string, Promise<string>>();

let known: ComputedBy["cpu"] | undefined;

/** The processor, which is asked for once: it takes as long as writing a small file. */
const cpu = (): ComputedBy["cpu"] => {
  known ??= { model: node.os.cpus()[0]?.model ?? "unknown", features: cpuFeatures() };
  return known;
};

/** The instruction sets as Linux lists them, shortened to a hash; elsewhere nothing is told. */
function cpuFeatures(): string {
  try {
    const text = node.fs.readFileSync("/proc/cpuinfo", "utf8");
    const [, features] = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(text) ?? [];
    if (features !== undefined)
      return hex(sha256().update(features.split(" ").sort().join(" ")).digest()).slice(0, 16);
  } catch {
    // There is no such file.
  }
  return "unknown";
}
