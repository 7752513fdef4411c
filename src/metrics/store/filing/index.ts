/** Metrics on their way into the tables: many at a time, each once. */
export { fileMetrics, newMemory, type RunMemory, unknownRun } from "./file-metrics.ts";
export { bodyOf, columnOf, formOf, forms, readValue, type StoredValue } from "./form.ts";
export { identityOf, textIdentity } from "./identity.ts";
export type { Filing, NewRows, Parameter, Request } from "./request.ts";
