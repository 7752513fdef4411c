import { ProtoWriter } from "../../../core/index.ts";
import { Block } from "./block.ts";
import { namedValue, namedValueType } from "./layout.ts";

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

export type OptionValue = string | number | boolean | readonly number[];

/** Options whose numbers are floats even when they are whole. */
const FLOATS = new Set(["memory_fraction"]);

/** Encodes options as the array of `PJRT_NamedValue` that creates a client. */
export function encodeNamedValues(options: Readonly<Record<string, OptionValue>>): Block {
  const entries = Object.entries(options);
  const block = new Block(entries.length * namedValue.size);
  entries.forEach(([name, value], i) => {
    const at = i * namedValue.size;
    const nameBytes = Buffer.from(name);
    block.setPointer(at, namedValue.size);
    block.pointTo(at + namedValue.name, Block.bytes(nameBytes));
    block.setPointer(at + namedValue.nameLength, nameBytes.length);
    writeValue(block, at, name, value);
  });
  return block;
}

function writeValue(block: Block, at: number, name: string, value: OptionValue): void {
  const type = typeOf(name, value);
  const field = at + namedValue.value;
  let length = 1;
  if (typeof value === "string") {
    const bytes = Buffer.from(value);
    block.pointTo(field, Block.bytes(bytes));
    length = bytes.length;
  } else if (typeof value === "boolean") block.setInt32(field, value ? 1 : 0);
  else if (typeof value !== "number") {
    block.pointTo(field, Block.integers(value));
    length = value.length;
  } else if (type === namedValueType.float) block.setFloat32(field, value);
  else block.setInt64(field, value);
  block.setInt32(at + namedValue.type, type);
  block.setPointer(at + namedValue.valueLength, length);
}

function typeOf(name: string, value: OptionValue): number {
  if (typeof value === "string") return namedValueType.string;
  if (typeof value === "boolean") return namedValueType.bool;
  if (typeof value !== "number") return namedValueType.int64List;
  return FLOATS.has(name) || !Number.isInteger(value) ? namedValueType.float : namedValueType.int64;
}
