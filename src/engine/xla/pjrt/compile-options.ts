import { ProtoWriter } from "../../../core/index.ts";
import { Block } from "./block.ts";
import { INT64, namedValue } from "./layout.ts";

/** The device of a program, or several; `any`: the one that each call names. By their ids. */
export type ProgramDevice = number | readonly number[] | "any";

/** A compiler flag's value: XLA's own `xla_...` flags, without the dashes. */
export type FlagValue = boolean | number | string;

/**
 * Encodes a `CompileOptionsProto` for one program on one device, or on several: then XLA partitions it by the shardings
 * in its text (Shardy), one part for each device.
 *
 * Flags go into the program's own options: an unknown name there is an error from the compiler, while an
 * unknown name in the environment variable XLA_FLAGS ends the process.
 */
export function encodeCompileOptions(
  device: ProgramDevice | undefined,
  flags: Readonly<Record<string, FlagValue>>,
): Uint8Array {
  const out = new ProtoWriter(256);
  const ids = device === undefined || device === "any" ? [] : [device].flat();
  const partitioned = ids.length > 1;
  const build = out.begin(3);
  out.integer(1, partitioned ? -1 : (ids[0] ?? -1)); // device_ordinal
  out.integer(4, 1); // num_replicas
  out.integer(5, Math.max(1, ids.length)); // num_partitions
  if (partitioned) out.boolean(6, true); // use_spmd_partitioning
  if (ids.length > 0) writeDeviceAssignment(out, ids);
  if (partitioned) out.boolean(19, true); // use_shardy_partitioner
  out.end(build);
  if (device === "any") out.boolean(4, true); // compile_portable_executable
  for (const [name, value] of Object.entries(flags)) {
    const flag = out.begin(7);
    out.text(1, name);
    const held = out.begin(2);
    if (typeof value === "string") out.text(1, value);
    else if (typeof value === "boolean") out.boolean(2, value);
    else if (Number.isInteger(value)) out.integer(3, value);
    else out.double(4, value);
    out.end(held);
    out.end(flag);
  }
  return Uint8Array.from(out.bytes());
}

/** `DeviceAssignmentProto` of one replica, each of whose parts has a device. */
function writeDeviceAssignment(out: ProtoWriter, ids: readonly number[]): void {
  const assignment = out.begin(9);
  out.integer(1, 1);
  out.integer(2, ids.length);
  for (const id of ids) {
    const computation = out.begin(3);
    out.integer(1, id);
    out.end(computation);
  }
  out.end(assignment);
}

/** Encodes options, which are whole numbers, as the array of `PJRT_NamedValue` that creates a client. */
export function encodeNamedValues(options: Readonly<Record<string, number>>): Block {
  const entries = Object.entries(options);
  const block = new Block(entries.length * namedValue.size);
  entries.forEach(([name, value], i) => {
    const at = i * namedValue.size;
    const nameBytes = Buffer.from(name);
    block.setPointer(at, namedValue.size);
    block.pointTo(at + namedValue.name, Block.bytes(nameBytes));
    block.setPointer(at + namedValue.nameLength, nameBytes.length);
    block.setInt32(at + namedValue.type, INT64);
    block.setPointer(at + namedValue.value, value);
    block.setPointer(at + namedValue.valueLength, 1);
  });
  return block;
}
