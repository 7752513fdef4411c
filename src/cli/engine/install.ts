import { EspalierError } from "../../core/index.ts";
import { type InstallOptions, type Plugin, verifyPlugin } from "../../engine/index.ts";
import type { Probe } from "./list.ts";

export type InstallableKind = "cpu" | "cuda";

/** The parts of an installation, given so that tests need no network. */
interface Installer {
  readonly install: (kind: InstallableKind, options: InstallOptions) => Promise<Plugin>;
  readonly probe: (plugin: Plugin) => Promise<Probe>;
  /** The command that people type, for advice. */
  readonly call: string;
}

/** Installs a plugin, tries it, and gives what is to be printed. */
export async function installAndTry(
  kind: InstallableKind,
  force: boolean,
  { install, probe, call }: Installer,
  onProgress: (line: string) => void,
): Promise<string> {
  const plugin = await install(kind, { force, onProgress });
  onProgress(`Checking ${plugin.path}`);
  const { matches } = await verifyPlugin(plugin);
  if (matches === false)
    throw new EspalierError(
      "PLUGIN_ALTERED",
      `${plugin.path} is not what was installed: its sha256 differs`,
      {
        fix: `${call} engine install ${kind} --force`,
      },
    );
  onProgress("Starting it");
  const outcome = await probe(plugin);
  if (outcome.state !== "starts" && kind === "cpu") throw notStarting(plugin, outcome);
  return [
    `installed the ${kind} plugin: ${plugin.path}`,
    ...outcomeLines(outcome),
    `next: ${call} engine check`,
  ].join("\n");
}

function notStarting({ path }: Plugin, outcome: Exclude<Probe, { state: "starts" }>): EspalierError {
  return new EspalierError("PLUGIN_FAILED", `${path} is installed but does not start: ${outcome.reason}`, {
    fix: outcome.fix ?? "remove it and use the wasm engine, or report what it said",
  });
}

/** A GPU's plugin may be fetched on a machine without one, so that its failure is news and no error. */
function outcomeLines(outcome: Probe): readonly string[] {
  if (outcome.state === "starts")
    return [`it starts: ${outcome.description}, devices: ${outcome.devices.join(", ")}`];
  return [
    `it does not start on this machine: ${outcome.reason}`,
    ...(outcome.fix ? [`  fix: ${outcome.fix}`] : []),
    "  it needs an NVIDIA GPU, its driver, and the CUDA libraries, e.g. from: pip install jax[cuda13]",
  ];
}
