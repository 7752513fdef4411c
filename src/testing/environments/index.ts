export { checkCompiledEnvironment } from "./check-compiled.ts";
export { checkEnvironment, environmentFaults } from "./check-environment.ts";
