export { type ComputedBy, computedBy, computedByDifferences } from "./computed-by.ts";
export { configDifferences, configHash } from "./config-hash.ts";
export { filedMetric, filedMetrics } from "./filed-metrics.ts";
export {
  type ComponentRecord,
  decodeManifest,
  encodeManifest,
  longestManifest,
  type Manifest,
  manifestFile,
} from "./manifest.ts";
