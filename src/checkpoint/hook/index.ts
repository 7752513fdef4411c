export { checkpointHook } from "./checkpoint-hook.ts";
export { isCheckpointHook } from "./is-checkpoint-hook.ts";
export { openCheckpoint } from "./open.ts";
export type { CheckpointHookOptions, Publication, SaveEvent } from "./options.ts";
export { type ResumeOptions, resumeTrainer } from "./resume-trainer.ts";
