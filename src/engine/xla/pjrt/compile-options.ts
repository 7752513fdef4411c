import { ProtoWriter } from "./protobuf.ts";

/** A compiler flag's value: XLA's own `xla_...` flags, without the dashes. */
export type FlagValue = boolean | number | string;

/**
 * A serialized `CompileOptionsProto` for one program on one device.
 *
 * Flags go into the program's own options: an unknown name there is an error from the compiler, while an
 * unknown name in the environment variable XLA_FLAGS ends the process.
 */
export function encodeCompileOptions(
  deviceId: number | undefined,
  flags: Readonly<Record<string, FlagValue>>,
): Uint8Array {
  const build = new ProtoWriter()
    .integer(1, deviceId ?? -1) // device_ordinal
    .integer(4, 1) // num_replicas
    .integer(5, 1); // num_partitions
  if (deviceId !== undefined) build.bytes(9, deviceAssignment(deviceId));
  const options = new ProtoWriter().bytes(3, build);
  for (const [name, value] of Object.entries(flags))
    options.bytes(7, new ProtoWriter().bytes(1, name).bytes(2, encodeFlag(value)));
  return options.finish();
}

/** `DeviceAssignmentProto` of one replica of one computation on one device. */
function deviceAssignment(deviceId: number): ProtoWriter {
  return new ProtoWriter().integer(1, 1).integer(2, 1).bytes(3, new ProtoWriter().integer(1, deviceId));
}

function encodeFlag(value: FlagValue): ProtoWriter {
  const flag = new ProtoWriter();
  if (typeof value === "string") return flag.bytes(1, value);
  if (typeof value === "boolean") return flag.integer(2, value);
  return Number.isInteger(value) ? flag.integer(3, value) : flag.double(4, value);
}
