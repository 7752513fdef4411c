interface Instance {
  readonly exports: object;
}
type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
type MakeInstance = new (module: object, imports?: Imports) => Instance;

/** The part of the global `WebAssembly` that is used here. */
const wasm = (globalThis as unknown as { readonly WebAssembly: { Instance: MakeInstance } }).WebAssembly;
const Real = wasm.Instance;

/** The instance of each kernel, as long as its module lives, and the memory it works on. */
const instances = new WeakMap<object, { readonly memory: unknown; readonly instance: Instance }>();

/** Replaces `WebAssembly.Instance` while jax-js computes. */
const Sharing = function share(module: object, imports?: Imports): Instance {
  const memory = imports?.env?.memory;
  const known = instances.get(module);
  if (known && known.memory === memory) return known.instance;
  const instance = new Real(module, imports);
  // A kernel of jax-js: it works on borrowed memory and keeps nothing itself.
  if (memory !== undefined && Object.keys(instance.exports).join() === "kernel")
    instances.set(module, { memory, instance });
  return instance;
} as unknown as MakeInstance;

/**
 * Computes with one instance a kernel. jax-js makes a new one for every call of every kernel, which in small programs
 * takes about as long as the kernels themselves. What others make meanwhile is left alone: nothing is shared but what
 * exports one function `kernel` over an imported memory, and only until `work` returns.
 */
export function withSharedInstances<T>(work: () => T): T {
  const before = wasm.Instance;
  wasm.Instance = Sharing;
  try {
    return work();
  } finally {
    wasm.Instance = before;
  }
}
