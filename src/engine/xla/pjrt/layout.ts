import type { DType } from "../../trace/dtype.ts";

/**
 * Where things lie in the PJRT C API, major version 0. Functions of the table and fields of the structs are
 * only ever appended, so these hold for every later minor; checked against the headers of 0.81 and 0.114.
 */

/** The oldest minor version this client was run against. */
export const MINIMUM_MINOR = 81;

export const version = { major: 32, minor: 36 } as const;

/** Byte offset of the first function pointer in `PJRT_Api`. */
export const FUNCTIONS_AT = 40;

/** Position of each function in the table. */
export const functions = {
  errorDestroy: 0,
  errorMessage: 1,
  errorGetCode: 2,
  pluginInitialize: 3,
  eventDestroy: 5,
  eventIsReady: 6,
  eventAwait: 8,
  clientCreate: 10,
  clientDestroy: 11,
  clientPlatformName: 12,
  clientAddressableDevices: 16,
  clientCompile: 20,
  clientBufferFromHost: 22,
  descriptionId: 23,
  descriptionToString: 28,
  deviceDescription: 29,
  executableDestroy: 40,
  executableNumOutputs: 44,
  loadedExecutableDestroy: 50,
  loadedExecutableExecutable: 51,
  loadedExecutableExecute: 55,
  bufferDestroy: 58,
  bufferOnDeviceBytes: 64,
  bufferToHost: 70,
  bufferReadyEvent: 72,
  bufferUnsafePointer: 73,
  bufferAddReference: 74,
  bufferDropReference: 75,
  bufferCopyRawToHost: 100,
} as const;

/** Most structs begin with the object they are about, right after `struct_size` and `extension_start`. */
export const SUBJECT = 16;

/** And the results of small queries follow it: a pointer or number, or a text and its length. */
export const RESULT = 24;
export const RESULT_LENGTH = 32;

export const clientCreate = { options: 16, optionCount: 24, client: 64 } as const;

/** `PJRT_NamedValue` stands in arrays, so its size is exact. */
export const namedValue = {
  size: 56,
  name: 16,
  nameLength: 24,
  type: 32,
  value: 40,
  valueLength: 48,
} as const;
/** `PJRT_NamedValue_Type` of whole numbers. */
export const INT64 = 1;

export const program = { code: 16, codeLength: 24, format: 32, formatLength: 40 } as const;
export const compile = { program: 24, options: 32, optionsLength: 40, executable: 48 } as const;

export const fromHost = {
  data: 24,
  type: 32,
  dims: 40,
  rank: 48,
  semantics: 72,
  device: 80,
  doneEvent: 104,
  buffer: 112,
} as const;

export const toHost = { target: 32, targetBytes: 40, event: 48 } as const;
export const rawToHost = { target: 24, from: 32, bytes: 40, event: 48 } as const;

export const execute = {
  options: 24,
  argumentLists: 32,
  deviceCount: 40,
  argumentCount: 48,
  outputLists: 56,
  device: 72,
} as const;

/** `PJRT_Buffer_Type` of each element type. */
export const bufferType: Readonly<Record<DType, number>> = {
  bool: 1,
  i32: 4,
  u8: 6,
  u32: 8,
  f16: 10,
  f32: 11,
  f64: 12,
  bf16: 13,
};
