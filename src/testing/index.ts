/** Suites that users run on their own parts. */
export type { ConformanceCase } from "./conformance.ts";
export * from "./environments/index.ts";
export * from "./hooks/index.ts";
export * from "./sinks/index.ts";
export { checkStore } from "./stores/check-store.ts";
