export { nameOf } from "./dtypes.ts";
export { encodeHeader, type Header, type TensorEntry, type TensorPlan } from "./header.ts";
export { type HostTensor, type ReadableBytes, readHeader, readTensor, toHost, typeOf } from "./read.ts";
export { encodeSafetensors, toFileBytes } from "./write.ts";
