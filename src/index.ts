/**
 * Espalier trains models and agents in TypeScript. This is the front door: math (`np`, `nn`, `random`), `compile`,
 * derivatives and loops, tensors and engines; the trainer, hooks, losses and schedules. Kinds of training have doors
 * of their own (`espalier/supervised`), and so have tests (`espalier/testing`).
 */
export * from "./checkpoint/index.ts";
export {
  type Clock,
  type ErrorDetails,
  EspalierError,
  type ManualClock,
  type MapTree,
  manualClock,
  systemClock,
  type Tree,
  treeLeaves,
  treeMap,
} from "./core/index.ts";
export {
  type Compiled,
  type CompileOptions,
  compile,
  cond,
  customGradient,
  type Device,
  type DType,
  devices,
  type Engine,
  type EngineChoice,
  type EngineName,
  engine,
  engineHint,
  evalShape,
  type Feed,
  type Fetch,
  grad,
  type HostArray,
  hostRandom,
  memory,
  type Nested,
  np,
  type PutOptions,
  put,
  type Read,
  random,
  read,
  remat,
  type ScanOptions,
  type Shape,
  Spec,
  type Specs,
  scan,
  setEngine,
  spec,
  stopGradient,
  switchBranch,
  Tensor,
  type TensorLike,
  type TensorType,
  Value,
  type ValueLike,
  type VmapOptions,
  valueAndGrad,
  vjp,
  vmap,
  whileLoop,
} from "./engine/index.ts";
export * from "./hooks/index.ts";
export * from "./losses/index.ts";
export * from "./metrics/index.ts";
export * as nn from "./nn/index.ts";
export * as optim from "./optim/index.ts";
export { RandomStreams, type Stream } from "./random/index.ts";
export * from "./schedule/index.ts";
export {
  firstDifference,
  flattenState,
  hashState,
  type StateDifference,
  type StateEntry,
  type Stateful,
  type StateLeaf,
  type StateTree,
  sameState,
} from "./state/index.ts";
export * from "./trainer/index.ts";
