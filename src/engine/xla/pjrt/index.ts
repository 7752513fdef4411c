export type { ApiVersion } from "./api.ts";
export { PjrtClient, type ProgramRequest } from "./client.ts";
export type { FlagValue, OptionValue } from "./compile-options.ts";
export type { DeviceMemory, PjrtDevice } from "./device.ts";
export { PjrtExecutable } from "./executable.ts";
export { bufferType } from "./layout.ts";
export { type Handle, loadGlobally } from "./library.ts";
