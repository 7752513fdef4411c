/** Runs math: `compile`, tensors, transformations, engines. The one room that knows engines. */
export * as nn from "./nn/index.ts";
export * as np from "./np/index.ts";
export type { ValueLike } from "./np/operands.ts";
export { shard } from "./ops/pass-through.ts";
export * as hostRandom from "./random/host.ts";
export * as random from "./random/index.ts";
export type { Device, Engine, EngineName, Mesh } from "./run/backend.ts";
export { devices, type EngineChoice, engine, engineHint, meshDevice, setEngine } from "./run/choose.ts";
export { type Compiled, type CompileOptions, compile } from "./run/compile.ts";
export { evalShape, Spec, type Specs, spec } from "./run/eval-shape.ts";
export type { HostArray, Nested } from "./run/host.ts";
export { memory } from "./run/memory.ts";
export { onDevice, type PutOptions, put, type Read, read, sideBySide } from "./run/put.ts";
export { Tensor } from "./run/tensor.ts";
export {
  ownFile,
  startThread,
  type ThreadOptions,
  type TypeScriptRuntime,
  thisRuntime,
  tsxFor,
} from "./run/threads.ts";
export type { Feed, Fetch, TensorLike } from "./run/trace-call.ts";
export { type DType, isFloat } from "./trace/dtype.ts";
export { isLacking, isOnHost, type Op, opTable } from "./trace/op.ts";
export type { Shape, TensorType } from "./trace/type.ts";
export { emit, Value } from "./trace/value.ts";
export * from "./transform/index.ts";
export { loadWasm } from "./wasm/backend.ts";
export { startXla } from "./xla/backend.ts";
export { native } from "./xla/pjrt/library.ts";
export {
  cacheDirectory,
  findPlugins,
  type InstallOptions,
  installedFiles,
  installPackageFile,
  installPlugin,
  type Plugin,
  type PluginKind,
  pluginAt,
  type Surroundings,
  thisMachine,
  verifyFile,
  verifyPlugin,
} from "./xla/plugin/index.ts";
