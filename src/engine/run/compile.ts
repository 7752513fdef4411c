import { flatten, leafPaths, type TreeShape, unflatten } from "../../core/index.ts";
import type { TensorType } from "../trace/type.ts";
import { isTracing } from "../trace/value.ts";
import type { Backend, Device, Executable, Native } from "./backend.ts";
import { type EngineChoice, resolveDevice } from "./choose.ts";
import { Tensor } from "./tensor.ts";
import {
  argumentName,
  checkStatics,
  donatedLeaves,
  donatedTwice,
  type Feed,
  type Fetch,
  leafType,
  matchTree,
  misplaced,
  toTensor,
  traceCall,
} from "./trace-call.ts";

/** Options of `compile`. */
export interface CompileOptions {
  /** The engine that runs it. Default: the one `ESPALIER_ENGINE` names, else the best available. */
  readonly engine?: EngineChoice;
  /** One of the engine's devices, by index or as listed by `devices()`. */
  readonly device?: number | Device;
  /** Positions of arguments that are plain JavaScript values; a new value compiles a new program. */
  readonly static?: readonly number[];
  /**
   * Arguments whose tensors the call uses up, so that their memory can be used for the results: by position, or by
   * name where they are members of the first argument.
   *
   * @example
   * ```ts
   * const step = compile(({ params, x }: { params: Params; x: Value }) => ..., { donate: ["params"] });
   * ```
   */
  readonly donate?: readonly (number | string)[];
  /** Ask for the same bits on every run where a device (a GPU) would not give them by itself. Costs time. */
  readonly deterministic?: boolean;
  /** Compiler flags beside those the engine chooses, for the xla engine. */
  readonly flags?: Readonly<Record<string, boolean | number | string>>;
  /** Name of the function in errors and in the line about a long compilation. Default: its own name. */
  readonly name?: string;
}

/** A compiled function: takes tensors and gives tensors, which stay on the device until they are read. */
export interface Compiled<A extends readonly unknown[], R> {
  (...args: Feed<A>): Fetch<R>;
  /** The program for these arguments as its engine reads it (StableHLO on xla). Compiles nothing. */
  lower(...args: Feed<A>): string;
  /** Number of programs compiled so far: one for each combination of shapes, types and static values. */
  readonly programs: number;
}

interface Specialization {
  readonly shape: TreeShape;
  readonly types: readonly TensorType[];
  readonly statics: readonly unknown[];
  readonly backend: Backend;
  readonly device: Device;
  readonly executable: Executable;
  readonly captured: readonly Tensor[];
  readonly donated: readonly number[];
  readonly outputShape: TreeShape;
  readonly outputTypes: readonly TensorType[];
  /** On a mesh: the axes along which arguments are sharded. */
  readonly shards: readonly (number | undefined)[] | undefined;
}

/**
 * Makes a function of traced values run on an engine. The function is called once for each combination of argument
 * shapes and types, with `Value`s, and must be pure; afterwards only its compiled program runs.
 *
 * @example
 * ```ts
 * const step = compile((w: Value, x: Value) => np.tanh(np.matmul(x, w)));
 * const y = step(put(weights), put(inputs));
 * console.log(await y.read());
 * ```
 */
export function compile<A extends readonly unknown[], const R>(
  fn: (...args: A) => R,
  options: CompileOptions = {},
): Compiled<A, R> {
  const known: Specialization[] = [];
  const statics = options.static ?? [];
  const name = options.name ?? (fn.name || "the compiled function");
  const anywhere = options.engine === undefined && options.device === undefined;
  const leaves: unknown[] = [];
  const natives: Native[] = [];
  const results: Native[] = [];

  const call = (...args: readonly unknown[]): unknown => {
    if (isTracing()) return fn(...(args as A));
    const traced = statics.length === 0 ? args : args.filter((_, i) => !statics.includes(i));
    const special = find(args, traced) ?? specialize(args, traced);
    return run(special, args);
  };

  function find(args: readonly unknown[], traced: readonly unknown[]): Specialization | undefined {
    for (const special of known) {
      leaves.length = 0;
      if (statics.some((at, i) => !Object.is(args[at], special.statics[i]))) continue;
      if (!matchTree(special.shape, traced, leaves)) continue;
      if (!leaves.every((leaf, i) => leafType(leaf, special.backend) === special.types[i])) continue;
      if (special.shards?.some((axis, i) => axisOf(leaves[i]) !== axis)) continue;
      if (anywhere && (home(leaves)?.device ?? special.device) !== special.device) continue;
      return special;
    }
    return undefined;
  }

  /** The device of the tensors among the arguments, unless one was asked for. */
  function place(traced: readonly unknown[]): { readonly backend: Backend; readonly device: Device } {
    const given: unknown[] = [];
    flatten(traced, given);
    const tensor = anywhere ? home(given) : undefined;
    return tensor ?? resolveDevice(options.engine, options.device);
  }

  function specialize(args: readonly unknown[], traced: readonly unknown[]): Specialization {
    checkStatics(statics, Math.max(args.length, fn.length), name);
    const { backend, device } = place(traced);
    const { shape, types, outputShape, program, captured } = traceCall({
      fn: fn as (...args: never[]) => unknown,
      name,
      args,
      statics,
      backend,
    });
    const elsewhere = captured.find((tensor) => tensor.device !== device);
    if (elsewhere)
      throw misplaced(
        `${name}: ${elsewhere.type.text}, a tensor used inside the function,`,
        elsewhere,
        device,
      );
    leaves.length = 0;
    flatten(traced, leaves);
    const shards = device.mesh && leaves.map(axisOf);
    const donated = donatedLeaves(shape, args, statics, options.donate ?? [], name);
    const executable = backend.compile(program, {
      device,
      donated: program.inputs.map((_, i) => donated.includes(i)),
      deterministic: options.deterministic ?? false,
      flags: options.flags ?? {},
      name: options.name ?? (fn.name || "a program"),
      ...(shards && { shards: [...shards, ...captured.map(axisOf)] }),
    });
    const special: Specialization = {
      shape,
      types,
      statics: statics.map((at) => args[at]),
      backend,
      device,
      executable,
      captured,
      donated,
      outputShape,
      outputTypes: program.outputs.map((output) => output.type),
      shards,
    };
    known.push(special);
    return special;
  }

  function run(special: Specialization, args: readonly unknown[]): unknown {
    const { backend, device, executable, captured, outputTypes } = special;
    const temporary: Tensor[] = [];
    natives.length = 0;
    for (let i = 0; i < leaves.length; i++) {
      const leaf = leaves[i];
      let tensor: Tensor;
      if (leaf instanceof Tensor) tensor = leaf;
      else {
        tensor = toTensor(leaf, backend, device);
        temporary.push(tensor);
      }
      if (tensor.isDisposed || tensor.device !== device) refuse(tensor, i, special, args);
      natives.push(tensor.native());
    }
    for (const at of special.donated) {
      const leaf = leaves[at];
      if (leaf instanceof Tensor && (leaves.indexOf(leaf) !== at || leaves.lastIndexOf(leaf) !== at))
        throw donatedTwice(leafName(at, special, args), leaf);
    }
    for (const tensor of captured) natives.push(tensor.native("a tensor used inside the function"));
    executable.run(natives, results);
    for (const at of special.donated) {
      const leaf = leaves[at];
      if (leaf instanceof Tensor) leaf.donated();
    }
    for (const tensor of temporary) tensor.dispose();
    const outputs = outputTypes.map((type, i) => new Tensor(results[i], type, device, backend));
    leaves.length = 0;
    results.length = 0;
    return unflatten(special.outputShape, outputs);
  }

  const leafName = (leaf: number, { shape }: Specialization, args: readonly unknown[]): string =>
    argumentName(name, leafPaths(shape)[leaf] as string, args, statics);

  function refuse(tensor: Tensor, leaf: number, special: Specialization, args: readonly unknown[]): never {
    const argument = leafName(leaf, special, args);
    tensor.native(argument);
    throw misplaced(argument, tensor, special.device);
  }

  return Object.defineProperty(
    Object.assign(call, {
      lower: (...args: readonly unknown[]): string => {
        const traced = args.filter((_, i) => !statics.includes(i));
        const { backend } = place(traced);
        return backend.text(
          traceCall({ fn: fn as (...args: never[]) => unknown, name, args, statics, backend }).program,
        );
      },
    }),
    "programs",
    { get: () => known.length },
  ) as unknown as Compiled<A, R>;
}

const axisOf = (leaf: unknown): number | undefined => (leaf instanceof Tensor ? leaf.shardedAxis : undefined);

/** The first tensor among the leaves: where it is, the function runs. */
const home = (leaves: readonly unknown[]): Tensor | undefined =>
  leaves.find((leaf): leaf is Tensor => leaf instanceof Tensor);
