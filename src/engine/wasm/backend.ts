import { EspalierError, node, onNode } from "../../core/index.ts";
import type { Backend, CompileRequest, Device, Executable, Native } from "../run/backend.ts";
import { fromBytes, type HostArray, hostArray } from "../run/host.ts";
import type { DType } from "../trace/dtype.ts";
import type { Jax, JaxArray } from "../trace/op.ts";
import type { Program } from "../trace/program.ts";
import type { TensorType } from "../trace/type.ts";
import { jaxEmpty, jaxName } from "./dtype.ts";
import { withSharedInstances } from "./instances.ts";
import { wasmFunction } from "./program.ts";
import { programText } from "./text.ts";

let started: Backend | undefined;

/** The engine that is always there: jax-js's WebAssembly kernels, loaded on first use. */
export function wasmBackend(): Backend {
  started ??= start(required());
  return started;
}

/** Node can load jax-js in the middle of a call. */
function required(): Jax {
  if (onNode()) return node.module.createRequire(import.meta.url)("@jax-js/jax") as Jax;
  throw new EspalierError("WASM_NOT_LOADED", "the wasm engine has not been loaded", {
    fix: "outside Node, await loadWasm() once before the first program runs",
  });
}

/**
 * Loads the wasm engine where it cannot load itself: once in a browser, before the first program runs. Node needs no
 * such call.
 *
 * @example
 * ```ts
 * await loadWasm();
 * console.log(await np.add(1, 2).read());
 * ```
 */
export async function loadWasm(): Promise<void> {
  if (!started) {
    const jax = await import("@jax-js/jax");
    started ??= start(jax);
  }
}

function start(j: Jax): Backend {
  j.defaultDevice("wasm");
  const device: Device = { engine: "wasm", index: 0, kind: "cpu", description: "WebAssembly on one thread" };
  const readSync = (native: Native, type: TensorType): HostArray =>
    type.size === 0
      ? hostArray(type.dtype, 0)
      : fromJax(
          withSharedInstances(() => (native as JaxArray).ref.dataSync()),
          type.dtype,
        );
  return {
    name: "wasm",
    description: "jax-js kernels in WebAssembly",
    devices: [device],
    lacks,
    compile: (program, request) => compileProgram(j, program, request),
    text: programText,
    put: (data, type) => toJax(j, data, type),
    read: async (native, type) => readSync(native, type),
    readSync,
    ready: async (native) => {
      await (native as JaxArray).blockUntilReady();
    },
    free: (native) => (native as JaxArray).dispose(),
  };
}

function lacks(dtype: DType): string | undefined {
  if (dtype === "bf16" || dtype === "f16" || dtype === "f64") return `the wasm engine has no ${dtype}`;
  return undefined;
}

function compileProgram(j: Jax, program: Program, _request: CompileRequest): Executable {
  const run = wasmFunction(j, program);
  const sizes = program.outputs.map((output) => output.size || Number.POSITIVE_INFINITY);
  const smallest = sizes.indexOf(Math.min(...sizes));
  return {
    run: (inputs, outputs) =>
      withSharedInstances(() => {
        const results = run(inputs.map((native) => (native as JaxArray).ref));
        results.forEach((result, i) => {
          outputs[i] = result;
        });
        // jax-js only notes what is to be done; its notes grow from call to call unless something is read.
        if (program.outputs[smallest]?.size) results[smallest]?.ref.dataSync();
      }),
  };
}

function toJax(j: Jax, data: HostArray, type: TensorType): JaxArray {
  if (type.size === 0) return jaxEmpty(j, type);
  const shape = [...type.shape];
  if (type.dtype === "bool") {
    const ints = Int32Array.from(data as Uint8Array);
    return j.numpy.array(ints, { shape, dtype: jaxName("i32") }).notEqual(0);
  }
  const copy =
    type.dtype === "u8" ? Uint32Array.from(data) : (data.slice() as Exclude<HostArray, Uint8Array>);
  return j.numpy.array(copy as Float32Array<ArrayBuffer>, { shape, dtype: jaxName(type.dtype) });
}

function fromJax(data: ArrayLike<number> & ArrayBufferView<ArrayBuffer>, dtype: DType): HostArray {
  if (dtype === "u8" || dtype === "bool") {
    const bytes = hostArray(dtype, data.length);
    for (let i = 0; i < data.length; i++) bytes[i] = data[i] as number;
    return bytes;
  }
  return fromBytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), dtype);
}
