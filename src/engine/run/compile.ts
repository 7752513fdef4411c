import type { TreeShape } from "../../core/index.ts";
import { EspalierError, flatten, leafPaths, unflatten } from "../../core/index.ts";
import { asValue } from "../np/value.ts";
import { userError } from "../trace/location.ts";
import { programOf } from "../trace/program.ts";
import type { TensorType } from "../trace/type.ts";
import type { Trace } from "../trace/value.ts";
import { isTracing, placeholder, Value, withTrace } from "../trace/value.ts";
import type { Backend, Device, Executable, Native } from "./backend.ts";
import type { EngineChoice } from "./choose.ts";
import { resolveDevice } from "./choose.ts";
import type { Feed, Fetch } from "./feed.ts";
import { leafType, matchTree, toTensor } from "./feed.ts";
import { Tensor } from "./tensor.ts";

/** How a function is compiled. */
export interface CompileOptions {
  /** Which engine runs it; by default the one `ESPALIER_ENGINE` names, else the best there is. */
  readonly engine?: EngineChoice;
  /** Which of the engine's devices, by index or as listed by `devices()`. */
  readonly device?: number | Device;
  /** Positions of arguments that are plain JavaScript values; a new value compiles anew. */
  readonly static?: readonly number[];
  /** Positions of arguments whose tensors the call uses up, so that their memory can be used for the results. */
  readonly donate?: readonly number[];
  /** Ask for the same bits on every run where a device (a GPU) would not give them by itself. Costs time. */
  readonly deterministic?: boolean;
  /** Compiler flags beside those the engine chooses, for the xla engine. */
  readonly flags?: Readonly<Record<string, boolean | number | string>>;
  /** What errors call the function; its own name unless given. */
  readonly name?: string;
}

/** A compiled function: takes tensors and gives tensors, which stay on the device until they are read. */
export interface Compiled<A extends readonly unknown[], R> {
  (...args: Feed<A>): Fetch<R>;
  /** The program for these arguments as its engine reads it (StableHLO on xla). Compiles nothing. */
  lower(...args: Feed<A>): string;
  /** How many programs have been compiled: one for each combination of shapes, types and static values. */
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
  const leaves: unknown[] = [];
  const natives: Native[] = [];
  const results: Native[] = [];

  const call = (...args: readonly unknown[]): unknown => {
    if (isTracing()) return fn(...(args as A));
    const traced = statics.length === 0 ? args : args.filter((_, i) => !statics.includes(i));
    const special = find(args, traced) ?? specialize(args, traced);
    return run(special);
  };

  function find(args: readonly unknown[], traced: readonly unknown[]): Specialization | undefined {
    for (const special of known) {
      leaves.length = 0;
      if (statics.some((at, i) => !Object.is(args[at], special.statics[i]))) continue;
      if (!matchTree(special.shape, traced, leaves)) continue;
      if (leaves.every((leaf, i) => leafType(leaf) === special.types[i])) return special;
    }
    return undefined;
  }

  function trace(args: readonly unknown[], traced: readonly unknown[], backend: Backend) {
    leaves.length = 0;
    const shape = flatten(traced, leaves);
    const paths = leafPaths(shape).map((path) => argumentName(name, path, args, statics));
    const types = leaves.map((leaf, i) => leafType(leaf) ?? badLeaf(paths[i] as string, leaf));
    return withTrace(
      (dtype) => backend.lacks(dtype),
      (context: Trace) => {
        const inputs = types.map((type) => placeholder(type, context.root));
        const rebuilt = unflatten(shape, inputs) as unknown[];
        let next = 0;
        const given = args.map((arg, i) => (statics.includes(i) ? arg : rebuilt[next++]));
        const outputLeaves: unknown[] = [];
        const result = fn(...(given as unknown as A));
        if (result instanceof Promise)
          throw userError(
            "ASYNC_TRACE",
            `${name} returned a promise`,
            "trace a synchronous function; await outside compile",
          );
        const outputShape = flatten(result, outputLeaves);
        const outputPaths = leafPaths(outputShape);
        const outputs = outputLeaves.map((leaf, i) => {
          try {
            return asValue(leaf);
          } catch (cause) {
            throw new EspalierError(
              "RESULT_INVALID",
              `${name}: its result at "${outputPaths[i]}" is ${describe(leaf)}`,
              {
                fix: "return traced values, numbers, and arrays and plain objects of them",
                cause,
              },
            );
          }
        });
        const captured = [...context.captured] as [Tensor, Value][];
        const program = programOf([...inputs, ...captured.map(([, value]) => value)], outputs);
        return { shape, types, outputShape, program, captured: captured.map(([tensor]) => tensor) };
      },
    );
  }

  function specialize(args: readonly unknown[], traced: readonly unknown[]): Specialization {
    const { backend, device } = place(traced, options);
    const { shape, types, outputShape, program, captured } = trace(args, traced, backend);
    const donated = donatedLeaves(shape, args, statics, options.donate ?? [], name);
    const executable = backend.compile(program, {
      device,
      donated: program.inputs.map((_, i) => donated.includes(i)),
      deterministic: options.deterministic ?? false,
      flags: options.flags ?? {},
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
    };
    known.push(special);
    return special;
  }

  function run(special: Specialization): unknown {
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
      if (tensor.device !== device) throw misplaced(name, special.shape, i, tensor, device);
      natives.push(tensor.native(name));
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

  return Object.defineProperty(
    Object.assign(call, {
      lower: (...args: readonly unknown[]): string => {
        const traced = args.filter((_, i) => !statics.includes(i));
        const { backend } = place(traced, options);
        return backend.text(trace(args, traced, backend).program);
      },
    }),
    "programs",
    { get: () => known.length },
  ) as unknown as Compiled<A, R>;
}

/** The device of the tensors among the arguments, else the one asked for. */
function place(traced: readonly unknown[], options: CompileOptions): { backend: Backend; device: Device } {
  if (options.engine === undefined && options.device === undefined) {
    const leaves: unknown[] = [];
    flatten(traced, leaves);
    const tensor = leaves.find((leaf): leaf is Tensor => leaf instanceof Tensor);
    if (tensor) return { backend: tensor.backend, device: tensor.device };
  }
  return resolveDevice(options.engine, options.device);
}

function donatedLeaves(
  shape: TreeShape,
  args: readonly unknown[],
  statics: readonly number[],
  donate: readonly number[],
  name: string,
): readonly number[] {
  const donated: number[] = [];
  let next = 0;
  let at = 0;
  args.forEach((_, i) => {
    if (statics.includes(i)) return;
    const count = leafPaths((shape as { items: readonly TreeShape[] }).items[at++] as TreeShape).length;
    if (donate.includes(i)) for (let k = 0; k < count; k++) donated.push(next + k);
    next += count;
  });
  const beyond = donate.find((i) => !(i < args.length) || statics.includes(i));
  if (beyond !== undefined)
    throw userError(
      "ARGUMENT_INVALID",
      `${name}: donate names argument ${beyond}, which is not a tensor argument`,
      "count arguments from 0",
    );
  return donated;
}

function argumentName(
  name: string,
  path: string,
  args: readonly unknown[],
  statics: readonly number[],
): string {
  const at = Number(/^\[(\d+)\]/.exec(path)?.[1] ?? 0);
  const original = args.map((_, i) => i).filter((i) => !statics.includes(i))[at];
  return `${name}: argument ${original}${path.replace(/^\[\d+\]/, "")}`;
}

function misplaced(
  name: string,
  shape: TreeShape,
  leaf: number,
  tensor: Tensor,
  device: Device,
): EspalierError {
  return userError(
    "DEVICE_MISMATCH",
    `${name}: argument ${leafPaths(shape)[leaf]} is on ${tensor.device.engine}:${tensor.device.index}, but the function runs on ${device.engine}:${device.index}`,
    "put all arguments on one device: put(data, { engine, device })",
  );
}

function badLeaf(path: string, leaf: unknown): never {
  if (leaf instanceof Value)
    throw userError(
      "VALUE_ESCAPED",
      `${path} is a traced value from another function`,
      "pass tensors to compiled functions",
    );
  throw userError(
    "ARGUMENT_INVALID",
    `${path} is ${describe(leaf)}, which is no tensor`,
    "pass tensors, numbers, booleans or typed arrays; make tensors from nested arrays with put(...); list plain values in `static`",
  );
}

function describe(leaf: unknown): string {
  if (typeof leaf === "function") return `the function ${leaf.name || "(anonymous)"}`;
  if (typeof leaf === "object" && leaf !== null) return `a ${leaf.constructor?.name ?? "object"}`;
  return `${JSON.stringify(leaf) ?? String(leaf)} (${typeof leaf})`;
}
