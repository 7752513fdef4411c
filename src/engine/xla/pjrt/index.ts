export type { ApiVersion } from "./api.ts";
export { type CompileRequest, PjrtClient } from "./client.ts";
export type { FlagValue, OptionValue } from "./compile-options.ts";
export type { DeviceMemory, PjrtDevice } from "./device.ts";
export { PjrtExecutable } from "./executable.ts";
export { bufferType } from "./layout.ts";
export { type Handle, loadGlobally } from "./library.ts";
