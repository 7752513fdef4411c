export { PjrtClient, type ProgramRequest } from "./client.ts";
export type { PjrtDevice } from "./device.ts";
export type { PjrtExecutable } from "./executable.ts";
export { type Handle, loadGlobally } from "./library.ts";
