import { EspalierError } from "../../core/index.ts";
import type { Backend, CompileRequest, Device, Executable } from "../run/backend.ts";
import { fromBytes, toBytes } from "../run/host.ts";
import type { Program } from "../trace/program.ts";
import { chooseFlags } from "./flags.ts";
import type { Handle, PjrtDevice } from "./pjrt/index.ts";
import { bufferType, PjrtClient } from "./pjrt/index.ts";
import type { Plugin } from "./plugin/index.ts";
import { findPlugins, preloadLibraries } from "./plugin/index.ts";
import { writeModule } from "./writer.ts";

let started: Backend | undefined;
let problem: { readonly reason: string; readonly fix: string; readonly cause?: unknown } | undefined;

/** The engine that runs on a PJRT plugin, started on first use; undefined where there is none that works. */
export function xlaBackend(): Backend | undefined {
  if (started || problem) return started;
  // A CUDA plugin may be installed on a machine without a GPU: the next one is tried.
  for (const plugin of findPlugins()) {
    try {
      started = startXla(plugin);
      problem = undefined;
      return started;
    } catch (cause) {
      const error = cause instanceof EspalierError ? cause : undefined;
      problem ??= {
        reason: `the plugin ${plugin.path} did not start: ${cause instanceof Error ? cause.message : String(cause)}`,
        fix: error?.fix ?? "npx espalier engine install --force",
        cause,
      };
    }
  }
  problem ??= {
    reason: "no XLA plugin was found",
    fix: "npx espalier engine install, or set ESPALIER_XLA_PLUGIN to a plugin's path",
  };
  return undefined;
}

/** Why there is no xla engine. */
export const xlaProblem = (): { readonly reason: string; readonly fix: string; readonly cause?: unknown } =>
  problem ?? { reason: "it has not been started", fix: 'call engine("xla")' };

/** Starts the xla engine on one plugin. */
export function startXla(plugin: Plugin): Backend {
  preloadLibraries(plugin);
  const client = PjrtClient.open(plugin.path);
  const devices: Device[] = client.devices.map((device, index) => ({
    engine: "xla",
    index,
    kind: client.platform,
    description: device.description,
  }));
  const native = (device: Device): PjrtDevice => client.devices[device.index] as PjrtDevice;
  return {
    name: "xla",
    description: `${client.platform}, PJRT API ${client.apiVersion.major}.${client.apiVersion.minor}`,
    devices,
    lacks: () => undefined,
    text: (program) => writeModule(program),
    compile: (program, request) => compileProgram(client, program, request, native(request.device)),
    put: (data, type, device) =>
      client.bufferFromHost(toBytes(data, type.dtype), bufferType[type.dtype], type.shape, native(device)),
    read: async (buffer, type) => {
      const bytes = new Uint8Array(new ArrayBuffer(type.bytes));
      if (type.size > 0) await client.bufferToHostAsync(buffer as Handle, bytes);
      return fromBytes(bytes, type.dtype);
    },
    readSync: (buffer, type) => {
      const bytes = new Uint8Array(new ArrayBuffer(type.bytes));
      if (type.size > 0) client.bufferToHost(buffer as Handle, bytes);
      return fromBytes(bytes, type.dtype);
    },
    ready: (buffer) => client.awaitBufferAsync(buffer as Handle),
    free: (buffer) => client.destroyBuffer(buffer as Handle),
  };
}

function compileProgram(
  client: PjrtClient,
  program: Program,
  request: CompileRequest,
  device: PjrtDevice,
): Executable {
  const aliases = client.platform === "cpu" ? undefined : aliasDonated(program, request.donated);
  const module = writeModule(program, aliases ? { aliases } : {});
  const executable = client.compile(module, {
    flags: { ...chooseFlags(client.platform, program, request.deterministic), ...request.flags },
    device,
  });
  return {
    run: (inputs, outputs) => executable.execute(inputs as readonly Handle[], outputs as Handle[]),
  };
}

/** Pairs each donated input with an output of the same type that no other input has taken. */
function aliasDonated(program: Program, donated: readonly boolean[]): Map<number, number> {
  const aliases = new Map<number, number>();
  const taken = new Set<number>();
  program.inputs.forEach((input, i) => {
    if (!donated[i]) return;
    const at = program.outputs.findIndex((output, k) => output.type === input.type && !taken.has(k));
    if (at < 0) return;
    taken.add(at);
    aliases.set(i, at);
  });
  return aliases;
}
