/** Suites that users run on their own parts. */
export { type ConformanceCase, type ConformanceOptions, engineConformance } from "./conformance.ts";
