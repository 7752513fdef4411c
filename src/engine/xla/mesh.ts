import { EspalierError } from "../../core/index.ts";
import { shardedAxis } from "../ops/pass-through.ts";
import type { Backend, CompileRequest, Device, Executable } from "../run/backend.ts";
import { fromBytes, type HostArray, toBytes } from "../run/host.ts";
import type { Program } from "../trace/program.ts";
import type { TensorType } from "../trace/type.ts";
import { compileOn } from "./backend.ts";
import { type Handle, PjrtClient, type PjrtDevice } from "./pjrt/index.ts";
import { writeModule } from "./writer.ts";

// Several devices as one:
//
//   put(data)           the same bytes on every device
//   compile(program)    one program, which XLA's partitioner (Shardy) cuts into one part for each device:
//                         inputs and results are whole on every device, except those that are sharded;
//                         `shard(x, axis)` within says what each device computes a part of; where parts must be
//                         added up (gradients), XLA puts collectives
//   run(inputs)         one list of buffers for each device
//   read(buffer)        the first device's bytes, or the parts of all in their order
//
// So everything above `Backend` works with a mesh as with a device, and tasks only say what is sharded.

/** A tensor on a mesh: a buffer on each device. */
interface ShardedBuffer {
  readonly handles: readonly Handle[];
  /** The axis of which each has an equal part; undefined where each has all. */
  readonly axis: number | undefined;
  /** Bytes that lie together on one device, where it is sharded. The next ones are on the next device. */
  readonly run: number;
}

/** Devices of a CPU that work together, at most. They share its cores, so more are of no use. */
const mostOnCpu = 16;

/**
 * Threads of the CPU's client for each device in use. A part that waits for the others in a collective holds a thread,
 * and the others need some: with as many threads as parts, XLA waits for 40 seconds and ends the process. The client
 * has a thread for each of its devices, so it gets more devices than are used.
 */
const threadsPerDevice = 4;

/** The first `count` devices of a plugin, which `main` runs, as one. */
export function startMesh(main: PjrtClient, count: number): Backend {
  const onCpu = main.platform === "cpu";
  const most = onCpu ? mostOnCpu : main.devices.length;
  if (count > most)
    throw new EspalierError(
      "DEVICES_UNAVAILABLE",
      onCpu
        ? `${count} devices were asked for, and a CPU is divided into ${most} at most`
        : `${count} devices were asked for, and ${main.platform} has ${most} here`,
      { fix: most > 1 ? `ask for at most ${most}: devices: ${most}` : "leave devices out" },
    );
  // On other platforms a second client would take the memory that the first has.
  const client = onCpu
    ? PjrtClient.open(main.path, { cpu_device_count: Math.max(mostOnCpu, threadsPerDevice * count) })
    : main;
  const natives = client.devices.slice(0, count);
  const { description } = natives[0] as PjrtDevice;
  const devices = [false, true].map((shardOptimizer, index): Device => {
    const mesh = { count, shardOptimizer };
    return { engine: "xla", index, kind: client.platform, description, mesh };
  });
  const { readSync, read, readBytes } = readers(client);
  return {
    name: "xla",
    description: `${count} devices, ${client.platform}`,
    devices,
    lacks: () => undefined,
    text: (program) => {
      const outputs = program.outputs.map(shardedAxis);
      return writeModule(program, { mesh: { count, inputs: [], outputs } });
    },
    compile: (program, request) => compileProgram(client, natives, program, request),
    put: (data, type, _device, axis): ShardedBuffer => {
      const bytes = toBytes(data, type.dtype);
      const run = runOf(type, axis, count);
      const shape = type.shape.map((n, i) => (i === axis ? n / count : n));
      const one = (device: PjrtDevice, d: number): Handle => {
        const part = axis === undefined ? bytes : partOf(bytes, run, run * count, d);
        return client.buffers.fromHost(part, type.dtype, shape, device);
      };
      return { handles: natives.map(one), axis, run };
    },
    read: (native, type) => read(native as ShardedBuffer, type),
    readSync: (native, type) => readSync(native as ShardedBuffer, type),
    readBytes: (native, from, target) => readBytes(native as ShardedBuffer, from, target),
    inPlace: (native, { bytes }) => {
      const { handles, axis } = native as ShardedBuffer;
      const [first] = handles as readonly [Handle];
      return axis === undefined && bytes > 0 && client.buffers.byteSize(first) === bytes
        ? client.buffers.inPlace(first)
        : undefined;
    },
    ready: async (native) => {
      await Promise.all((native as ShardedBuffer).handles.map((handle) => client.buffers.waitAsync(handle)));
    },
    free: (native) => {
      for (const handle of (native as ShardedBuffer).handles) client.buffers.destroy(handle);
    },
    shardedAxis: (native) => (native as ShardedBuffer).axis,
  };
}

function compileProgram(
  client: PjrtClient,
  devices: readonly PjrtDevice[],
  program: Program,
  request: CompileRequest,
): Executable {
  const count = devices.length;
  const inputs = program.inputs.map((_, i) => request.shards?.[i]);
  const axes = program.outputs.map(shardedAxis);
  const executable = compileOn(client, program, request, devices, { count, inputs, outputs: axes });
  const runs = program.outputs.map(({ type }, i) => runOf(type, axes[i], count));
  const [given, found]: [Handle[], Handle[]] = [[], []];
  return {
    run: (inputs, outputs) => {
      const parts = inputs as readonly ShardedBuffer[];
      given.length = 0;
      for (let d = 0; d < count; d++) for (const { handles } of parts) given.push(handles[d] as Handle);
      executable.execute(given, found);
      axes.forEach((axis, i) => {
        const handles = devices.map((_, d) => found[d * axes.length + i] as Handle);
        outputs[i] = { handles, axis, run: runs[i] as number } satisfies ShardedBuffer;
      });
    },
  };
}

/** Bytes of an array that lie together on one device where it is sharded along an axis. */
function runOf({ shape, bytes }: TensorType, axis: number | undefined, count: number): number {
  return axis === undefined ? 0 : bytes / count / shape.slice(0, axis).reduce((all, n) => all * n, 1);
}

/** The part of an array's bytes that device `d` has: `run` bytes of each period. */
function partOf(bytes: Uint8Array, run: number, period: number, d: number): Uint8Array {
  const part = new Uint8Array((bytes.length / period) * run);
  for (let at = 0; at * period < bytes.length; at++) {
    const from = at * period + d * run;
    part.set(bytes.subarray(from, from + run), at * run);
  }
  return part;
}

/** Ways to bring a tensor to the host, whole. */
function readers(client: PjrtClient) {
  const read = async (parts: ShardedBuffer, { bytes, dtype }: TensorType): Promise<HostArray> => {
    const target = new Uint8Array(new ArrayBuffer(bytes));
    if (parts.axis === undefined) await client.buffers.toHostAsync(parts.handles[0] as Handle, target);
    else {
      await Promise.all(parts.handles.map((handle) => client.buffers.waitAsync(handle)));
      await readBytes(parts, 0, target);
    }
    return fromBytes(target, dtype);
  };
  const readSync = ({ handles, axis, run }: ShardedBuffer, { bytes, dtype }: TensorType): HostArray => {
    const target = new Uint8Array(new ArrayBuffer(bytes));
    if (axis === undefined) client.buffers.toHost(handles[0] as Handle, target);
    else
      handles.forEach((handle, d) => {
        const part = new Uint8Array(bytes / handles.length);
        client.buffers.toHost(handle, part);
        place(part, { from: 0, target, run, period: run * handles.length, first: d * run });
      });
    return fromBytes(target, dtype);
  };
  const readBytes = async (
    { handles, axis, run }: ShardedBuffer,
    from: number,
    target: Uint8Array,
  ): Promise<void> => {
    if (axis === undefined) return client.buffers.partToHost(handles[0] as Handle, from, target);
    const period = run * handles.length;
    const reading = handles.map(async (handle, d) => {
      const first = d * run;
      /** How many of the array's first `position` bytes are on this device. */
      const before = (position: number): number =>
        Math.floor(position / period) * run + Math.min(run, Math.max(0, (position % period) - first));
      const part = new Uint8Array(before(from + target.length) - before(from));
      await client.buffers.partToHost(handle, before(from), part);
      place(part, { from, target, run, period, first });
    });
    await Promise.all(reading);
  };
  return { read, readSync, readBytes };
}

/** Writes a device's bytes to their places among the array's bytes from `from` on: `run` bytes in each period. */
function place(
  part: Uint8Array,
  {
    from,
    target,
    run,
    period,
    first,
  }: { from: number; target: Uint8Array; run: number; period: number; first: number },
): void {
  let taken = 0;
  for (let at = Math.floor(from / period) * period + first; taken < part.length; at += period) {
    const [begin, end] = [Math.max(at, from), Math.min(at + run, from + target.length)];
    if (begin >= end) continue;
    target.set(part.subarray(taken, taken + end - begin), begin - from);
    taken += end - begin;
  }
}
