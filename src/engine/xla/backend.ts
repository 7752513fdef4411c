import { EspalierError, hex, onNode, sha256 } from "../../core/index.ts";
import type { Backend, CompileRequest, Device, Executable } from "../run/backend.ts";
import { fromBytes, type HostArray, toBytes } from "../run/host.ts";
import type { Program } from "../trace/program.ts";
import type { TensorType } from "../trace/type.ts";
import { compileStatus } from "./compile-status.ts";
import { chooseFlags } from "./flags.ts";
import { startMesh } from "./mesh.ts";
import {
  type Handle,
  PjrtClient,
  type PjrtDevice,
  type PjrtExecutable,
  type ProgramRequest,
} from "./pjrt/index.ts";
import { findPlugins, type Plugin, preloadLibraries } from "./plugin/index.ts";
import { type ModuleOptions, writeModule } from "./writer.ts";

let started: Backend | undefined;

/** Why there is no xla engine. */
interface Problem {
  readonly reason: string;
  readonly fix: string;
  readonly cause?: unknown;
}
let problem: Problem | undefined;

/** The engine that runs on a PJRT plugin, started on first use; undefined where there is none that works. */
export function xlaBackend(): Backend | undefined {
  if (started || problem) return started;
  if (!onNode()) {
    problem = {
      reason: "it runs on Node, and this is not",
      fix: 'choose the wasm engine: setEngine("wasm")',
    };
    return undefined;
  }
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

export const xlaProblem = (): Problem =>
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
  const reader = patientReader(client);
  const meshes = new Map<number, Backend>();
  const native = (device: Device): PjrtDevice => client.devices[device.index] as PjrtDevice;
  return {
    name: "xla",
    description: `${client.platform}, PJRT API ${client.apiVersion.major}.${client.apiVersion.minor}`,
    devices,
    lacks: () => undefined,
    text: (program) => writeModule(program),
    compile: (program, request) => compileProgram(client, program, request, native(request.device)),
    put: (data, type, device) =>
      client.buffers.fromHost(toBytes(data, type.dtype), type.dtype, type.shape, native(device)),
    read: (buffer, type) => reader(buffer as Handle, type),
    readSync: (buffer, type) => {
      const bytes = new Uint8Array(new ArrayBuffer(type.bytes));
      if (type.size > 0) client.buffers.toHost(buffer as Handle, bytes);
      return fromBytes(bytes, type.dtype);
    },
    readBytes: (buffer, from, target) => client.buffers.partToHost(buffer as Handle, from, target),
    inPlace: (buffer, { bytes }) =>
      bytes > 0 && client.buffers.byteSize(buffer as Handle) === bytes
        ? client.buffers.inPlace(buffer as Handle)
        : undefined,
    ready: (buffer) => client.buffers.waitAsync(buffer as Handle),
    free: (buffer) => client.buffers.destroy(buffer as Handle),
    mesh: (count) => {
      const mesh = meshes.get(count) ?? startMesh(client, count);
      meshes.set(count, mesh);
      return mesh;
    },
  };
}

/** A wait shorter than this, in milliseconds, is not worth another thread, which costs tens of microseconds. */
const shortWait = 2;
/** Copying more than this takes long enough by itself, and says nothing about how long others wait. */
const muchToCopy = 1 << 20;

/**
 * Reads without holding up the event loop for long: a wait that promises to be short, going by the ones before, is
 * taken on the spot, a longer one on another thread.
 */
function patientReader(client: PjrtClient): (buffer: Handle, type: TensorType) => Promise<HostArray> {
  let usualWait = 0;
  return (buffer, type) => {
    const bytes = new Uint8Array(new ArrayBuffer(type.bytes));
    if (type.size === 0) return Promise.resolve(fromBytes(bytes, type.dtype));
    if (type.bytes > muchToCopy)
      return client.buffers.toHostAsync(buffer, bytes).then(() => fromBytes(bytes, type.dtype));
    const start = performance.now();
    const done = (): HostArray => {
      usualWait = (usualWait + performance.now() - start) / 2;
      return fromBytes(bytes, type.dtype);
    };
    if (usualWait >= shortWait) return client.buffers.toHostAsync(buffer, bytes).then(done);
    client.buffers.toHost(buffer, bytes);
    return Promise.resolve(done());
  };
}

function compileProgram(
  client: PjrtClient,
  program: Program,
  request: CompileRequest,
  device: PjrtDevice,
): Executable {
  // The devices of a CPU are alike: what was compiled for one runs on the others.
  const anywhere = client.platform === "cpu";
  const executable = compileOn(client, program, request, anywhere ? "any" : device);
  const on = anywhere ? device : undefined;
  return {
    run: (inputs, outputs) => executable.execute(inputs as readonly Handle[], outputs as Handle[], on),
  };
}

const compiled = new Map<string, WeakRef<PjrtExecutable>>();
const dropped = new FinalizationRegistry<string>((key) => {
  if (compiled.get(key)?.deref() === undefined) compiled.delete(key);
});

/** Compiles a program, or takes the one that was compiled from the same text and is still in use. */
export function compileOn(
  client: PjrtClient,
  program: Program,
  { name, donated, deterministic, flags }: CompileRequest,
  device: Required<ProgramRequest>["device"],
  mesh?: ModuleOptions["mesh"],
): PjrtExecutable {
  const { path, platform } = client;
  const onCpu = platform === "cpu";
  const module = writeModule(program, {
    ...(mesh && { mesh }),
    ...(onCpu ? { smallLoops: !mesh } : { aliases: aliasDonated(program, donated, mesh) }),
  });
  // Compilers of other platforms may not know the CPU's flags.
  const given = Object.entries(flags).filter(([flag]) => onCpu || !flag.startsWith("xla_cpu_"));
  const all = { ...chooseFlags(platform, program, deterministic), ...Object.fromEntries(given) };
  const ids = device === "any" ? device : [device].flat().map(({ id }) => id);
  const key = hex(
    sha256()
      .update(JSON.stringify([path, ids, all]))
      .update(module)
      .digest(),
  );
  const known = compiled.get(key)?.deref();
  if (known) return known;
  const executable = compileStatus().during(name, () => client.compile(module, { flags: all, device }));
  compiled.set(key, new WeakRef(executable));
  dropped.register(executable, key);
  return executable;
}

/** Pairs each donated input with an output of the same type, and place on a mesh, that no other input has taken. */
function aliasDonated(
  program: Program,
  donated: readonly boolean[],
  mesh: ModuleOptions["mesh"],
): Map<number, number> {
  const aliases = new Map<number, number>();
  const taken = new Set<number>();
  program.inputs.forEach((input, i) => {
    if (!donated[i]) return;
    const at = program.outputs.findIndex(
      (output, k) => output.type === input.type && !taken.has(k) && mesh?.inputs[i] === mesh?.outputs[k],
    );
    if (at < 0) return;
    taken.add(at);
    aliases.set(i, at);
  });
  return aliases;
}
