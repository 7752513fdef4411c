import type { PjrtApi } from "./api.ts";
import { RESULT, RESULT_LENGTH } from "./layout.ts";
import { type Handle, native } from "./library.ts";

/** One device that programs can run on. */
export interface PjrtDevice {
  /** The number the plugin knows it by. */
  readonly id: number;
  readonly description: string;
  readonly handle: Handle;
}

/** The devices of a client that this process can use. */
export function listDevices(api: PjrtApi, client: Handle): readonly PjrtDevice[] {
  const list = api.query("clientAddressableDevices", client);
  return native()
    .pointersAt(list.pointer(RESULT), list.pointer(RESULT_LENGTH))
    .map((handle) => {
      const description = api.query("deviceDescription", handle).pointer(RESULT);
      const id = api.query("descriptionId", description).int32(RESULT);
      return { id, description: api.queryText("descriptionToString", description), handle };
    });
}
