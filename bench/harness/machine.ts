import { arch, availableParallelism, cpus, platform, totalmem } from "node:os";
import { engine } from "../../src/index.ts";
import { type PeerName, peerLabels } from "./figure.ts";

/** Where a bench ran, for people. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGB: number;
  readonly system: string;
  readonly node: string;
  /** Ours, by engine: platform, plugin version, device. */
  readonly engines: Readonly<Record<string, string>>;
  readonly peers: Readonly<Partial<Record<PeerName, string>>>;
}

export function describeMachine(
  engines: readonly ("xla" | "wasm")[],
  peers: Readonly<Partial<Record<PeerName, string>>>,
): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${arch()}`,
    node: process.versions.node,
    engines: Object.fromEntries(engines.map((name) => [name, describeEngine(name)])),
    peers,
  };
}

function describeEngine(name: "xla" | "wasm"): string {
  try {
    const { description, devices } = engine(name);
    const device = devices[0];
    return device && device.kind !== "cpu" ? `${description}, ${device.description}` : description;
  } catch (cause) {
    return `missing: ${cause instanceof Error ? cause.message : String(cause)}`;
  }
}

/** The same in lines of text. */
export function machineLines(machine: Machine): readonly string[] {
  const { cpu, cores, memoryGB, system, node, engines, peers } = machine;
  const names = Object.keys(peers) as PeerName[];
  return [
    `${cpu}, ${cores} cores, ${memoryGB} GB, ${system}, Node ${node}`,
    ...Object.entries(engines).map(([name, text]) => `${name}: ${text}`),
    ...names.map((name) => `${peerLabels[name]}: ${peers[name]}`),
  ];
}
