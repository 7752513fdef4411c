/** Runs from files: YAML, JSON or TypeScript, as `espalier train` runs them. */
export {
  type BuiltRun,
  buildRun,
  type Call,
  type ConfigSource,
  createRun,
  type PreparedRun,
  type Reference,
  type RunConfig,
  readConfig,
  reopenRun,
  runConfig,
  type StartOptions,
} from "../config/index.ts";
