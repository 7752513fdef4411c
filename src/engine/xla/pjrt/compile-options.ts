import { ProtoWriter } from "../../../core/index.ts";

/** A compiler flag's value: XLA's own `xla_...` flags, without the dashes. */
export type FlagValue = boolean | number | string;

/**
 * Encodes a `CompileOptionsProto` for one program on one device.
 *
 * Flags go into the program's own options: an unknown name there is an error from the compiler, while an
 * unknown name in the environment variable XLA_FLAGS ends the process.
 */
export function encodeCompileOptions(
  deviceId: number | undefined,
  flags: Readonly<Record<string, FlagValue>>,
): Uint8Array {
  const out = new ProtoWriter(256);
  const build = out.begin(3);
  out.integer(1, deviceId ?? -1); // device_ordinal
  out.integer(4, 1); // num_replicas
  out.integer(5, 1); // num_partitions
  if (deviceId !== undefined) writeDeviceAssignment(out, deviceId);
  out.end(build);
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

/** `DeviceAssignmentProto` of one replica of one computation on one device. */
function writeDeviceAssignment(out: ProtoWriter, deviceId: number): void {
  const assignment = out.begin(9);
  out.integer(1, 1);
  out.integer(2, 1);
  const computation = out.begin(3);
  out.integer(1, deviceId);
  out.end(computation);
  out.end(assignment);
}
