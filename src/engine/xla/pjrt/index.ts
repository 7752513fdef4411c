export type { ApiVersion } from "./api.ts";
export { type CompileRequest, PjrtClient } from "./client.ts";
export type { FlagValue } from "./compile-options.ts";
export type { DeviceMemory, PjrtDevice } from "./device.ts";
export { PjrtExecutable } from "./executable.ts";
export type { Handle } from "./koffi.ts";
export { bufferType } from "./layout.ts";
export { loadGlobally } from "./library.ts";
export type { OptionValue } from "./named-values.ts";
