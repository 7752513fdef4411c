import { arch, availableParallelism, cpus, platform, totalmem } from "node:os";
import { setTimeout } from "node:timers/promises";
import { engine } from "../../src/index.ts";
import { type PeerName, peerLabels } from "./figure.ts";

/** Where a bench ran, for people. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGB: number;
  readonly system: string;
  readonly node: string;
  /** The largest share of the processors' time that other programs took before a figure. */
  readonly busy?: number;
  /** Ours, by engine: platform, plugin version, device. */
  readonly engines: Readonly<Record<string, string>>;
  readonly peers: Readonly<Partial<Record<PeerName, string>>>;
}

export function describeMachine(
  engines: readonly ("xla" | "wasm")[],
  peers: Readonly<Partial<Record<PeerName, string>>>,
  busy: number,
): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${arch()}`,
    node: process.versions.node,
    busy,
    engines: Object.fromEntries(engines.map((name) => [name, describeEngine(name)])),
    peers,
  };
}

/** More than this share, and times are those of a busy machine. */
export const muchBusy = 0.1;

/** The share of the processors' time that is taken while this program, and its peers, do nothing. */
export async function busyShare(milliseconds = 500): Promise<number> {
  const before = processorTimes();
  await setTimeout(milliseconds);
  const after = processorTimes();
  return 1 - (after.idle - before.idle) / Math.max(1, after.all - before.all);
}

function processorTimes(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((cpu) => cpu.times);
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
  return { idle: sum(times.map(({ idle }) => idle)), all: sum(times.flatMap((each) => Object.values(each))) };
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
  const { cpu, cores, memoryGB, system, node, busy = 0, engines, peers } = machine;
  const names = Object.keys(peers) as PeerName[];
  return [
    `${cpu}, ${cores} cores, ${memoryGB} GB, ${system}, Node ${node}`,
    ...(busy > muchBusy
      ? [`busy: other programs took up to ${Math.round(100 * busy)} % of the processors`]
      : []),
    ...Object.entries(engines).map(([name, text]) => `${name}: ${text}`),
    ...names.map((name) => `${peerLabels[name]}: ${peers[name]}`),
  ];
}
