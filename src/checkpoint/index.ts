/** Files: safetensors, manifests, stores, and the manager that saves and restores components. */
export { type Json, type SavedLeaf, savedLeaves } from "./component/index.ts";
export * from "./local/index.ts";
export * from "./manager/index.ts";
export type { ComponentRecord, ComputedBy, Manifest } from "./manifest/index.ts";
export {
  encodeSafetensors,
  type Header,
  type HostTensor,
  readHeader,
  readTensor,
} from "./safetensors/index.ts";
export * from "./store/index.ts";
