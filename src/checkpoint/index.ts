/** Files: safetensors, manifests, stores, the manager that saves and restores components, and the hook that uses it. */
export { type Json, type SavedLeaf, savedLeaves } from "./component/index.ts";
export * from "./hook/index.ts";
export * from "./manager/index.ts";
export type { ComponentRecord, ComputedBy, Manifest } from "./manifest/index.ts";
export { filedMetrics } from "./manifest/index.ts";
export { anyRanksStore, type PartedStore } from "./ranks/index.ts";
export {
  encodeSafetensors,
  type Header,
  type HostTensor,
  readHeader,
  readTensor,
} from "./safetensors/index.ts";
export * from "./store/index.ts";
