export { checkpointHook } from "./checkpoint-hook.ts";
export { compileOptionsOf } from "./filing.ts";
export { openCheckpoint } from "./open.ts";
export type { CheckpointHookOptions, Publication, SaveEvent } from "./options.ts";
