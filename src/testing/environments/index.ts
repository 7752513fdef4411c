export type { EnvironmentCheck } from "./bench.ts";
export { type CompiledCheckOptions, checkCompiledEnvironment } from "./check-compiled.ts";
export { checkEnvironment, environmentFaults } from "./check-environment.ts";
