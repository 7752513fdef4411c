export type { Call, Reference } from "./build.ts";
export { catalogEntries, type Kind } from "./names.ts";
export {
  type BuiltRun,
  buildParts,
  buildRun,
  type RunConfig,
  readConfig,
  runConfig,
  runTable,
} from "./run-config.ts";
export {
  type ConfigPlace,
  configAround,
  configAt,
  configHash,
  createRun,
  findRunDirectory,
  locateConfig,
  type PreparedRun,
  plannedTrainer,
  type RunRecord,
  readRecord,
  reopenRun,
  type StartOptions,
  storedConfig,
} from "./run-directory.ts";
export { configSchema } from "./schema.ts";
export {
  type ConfigSource,
  configError,
  type Path,
  parseConfig,
  runSettings,
} from "./source.ts";
export {
  type MemberResult,
  type Parameter,
  type PlannedSweep,
  planSweep,
  ranked,
  runSweep,
  type Sweep,
  type SweepMember,
  type Trial,
  trainMember,
} from "./sweep.ts";
