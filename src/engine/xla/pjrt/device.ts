import { EspalierError } from "../../../core/index.ts";
import type { PjrtApi } from "./api.ts";
import { memoryStats, RESULT, RESULT_LENGTH } from "./layout.ts";
import { type Handle, native } from "./library.ts";

/** Bytes on a device, as far as it reports them. */
export interface DeviceMemory {
  readonly used: number;
  readonly limit?: number;
  readonly peak?: number;
}

/** One device that programs can run on. */
export interface PjrtDevice {
  /** Position in the client's list. */
  readonly index: number;
  /** The number the plugin knows it by. */
  readonly id: number;
  readonly kind: string;
  readonly description: string;
  readonly handle: Handle;
  /** Undefined where the device does not say, as on the CPU. */
  memory(): DeviceMemory | undefined;
}

/** The devices of a client that this process can use. */
export function listDevices(api: PjrtApi, client: Handle): readonly PjrtDevice[] {
  const list = api.query("clientAddressableDevices", client);
  return native()
    .pointersAt(list.pointer(RESULT), list.pointer(RESULT_LENGTH))
    .map((handle, index) => {
      const description = api.query("deviceDescription", handle).pointer(RESULT);
      return {
        index,
        id: api.query("descriptionId", description).int32(RESULT),
        kind: api.queryText("descriptionKind", description),
        description: api.queryText("descriptionToString", description),
        handle,
        memory: () => readMemory(api, handle),
      };
    });
}

function readMemory(api: PjrtApi, device: Handle): DeviceMemory | undefined {
  try {
    const stats = api.query("deviceMemoryStats", device);
    return {
      used: stats.int64(memoryStats.used),
      ...(stats.byte(memoryStats.limitIsSet) ? { limit: stats.int64(memoryStats.limit) } : {}),
      ...(stats.byte(memoryStats.peakIsSet) ? { peak: stats.int64(memoryStats.peak) } : {}),
    };
  } catch (error) {
    // Statistics are optional in PJRT; a device without them says UNIMPLEMENTED.
    if (error instanceof EspalierError) return undefined;
    throw error;
  }
}
