import { readFileSync } from "node:fs";
import { type EngineName, put } from "espalier";
import { CheckpointManager, memoryStore } from "espalier/checkpoint";

/** What the bits of a run follow from, beside the sources. */
export type Machine = Readonly<Record<string, string>>;

/**
 * What computes on an engine here. XLA chooses instructions by the processor; WebAssembly is compiled by V8, which
 * joins products and sums into one instruction from Node 22 on.
 */
export async function machineOf(engine: EngineName): Promise<Machine> {
  const number = put([1], { engine });
  const manager = new CheckpointManager({ store: memoryStore() });
  const { manifest } = await manager.save(
    { number: { getState: () => number, setState: () => undefined } },
    { step: 0 },
  );
  await manager.close();
  const { name, sha256 } = manifest.computedBy.plugin;
  const { platform } = manifest.computedBy;
  const [node = ""] = process.versions.node.split(".");
  return engine === "wasm"
    ? { kernels: name, platform, node }
    : { kernels: `${name} ${sha256?.slice(0, 16)}`, platform, processor: processor() };
}

/** The processor's family and those of its instruction sets that compute: the others change from kernel to kernel. */
function processor(): string {
  let text = "";
  try {
    text = readFileSync("/proc/cpuinfo", "utf8");
  } catch {
    return "unknown";
  }
  const line = (name: RegExp): string =>
    new RegExp(`^(?:${name.source})\\s*:\\s*(.*)$`, "m").exec(text)?.[1] ?? "?";
  const sets = line(/flags|Features/)
    .split(" ")
    .filter((name) => /^(avx|fma|amx|sse4|f16c|bmi|asimd|sve|neon)/.test(name))
    .sort();
  return `${line(/vendor_id|CPU implementer/)} ${line(/cpu family|CPU architecture/)}/${line(/model|CPU part/)}: ${sets.join(" ")}`;
}

/** Where this machine is another one than that of a record, in words; empty where bits must agree. */
export const machineDifferences = (recorded: Machine, here: Machine): readonly string[] =>
  [...new Set([...Object.keys(recorded), ...Object.keys(here)])]
    .filter((name) => recorded[name] !== here[name])
    .map((name) => `${name}: recorded on ${recorded[name]}, here ${here[name]}`);
