/** Runs for Weights & Biases, written offline. */
export { type WandbArtifactOptions, wandbArtifact } from "./artifact.ts";
export type { ArtifactContent, ArtifactFile } from "./artifact-record.ts";
export { type WandbOptions, type WandbSink, wandbSink } from "./sink.ts";
export type { WandbSyncOutcome } from "./sync.ts";
