import { EspalierError } from "../../core/index.ts";
import { type DType, isFloat } from "../trace/dtype.ts";
import { isLacking, type Several, several } from "../trace/op.ts";
import { type Program, regionProgram } from "../trace/program.ts";
import type { Region } from "../trace/region.ts";
import { type TensorType, tensorType } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";

const elementText: Readonly<Record<DType, string>> = {
  f32: "f32",
  f64: "f64",
  f16: "f16",
  bf16: "bf16",
  i32: "i32",
  u32: "ui32",
  u8: "ui8",
  bool: "i1",
};

/** A tensor's type, or a value that has one. */
type Typed = Pick<TensorType, "dtype" | "shape">;

/** A type as StableHLO writes it: `tensor<2x3xf32>`. */
export const hloType = ({ dtype, shape }: Typed): string =>
  `tensor<${[...shape, elementText[dtype]].join("x")}>`;

const hloTypes = (types: readonly Typed[]): string => types.map(hloType).join(", ");

/** The type of a scalar: `tensor<f32>`. */
export const hloScalar = (dtype: DType): string => hloType({ dtype, shape: [] });

/** A list of integers as an attribute: `array<i64: 0, 1>`. */
export const i64s = (values: readonly number[]): string =>
  values.length === 0 ? "array<i64>" : `array<i64: ${values.join(", ")}>`;

/** State shared by all writers of a module. */
interface Shared {
  next: number;
  /** Functions beside the main one. */
  readonly functions: string[];
  readonly smallLoops: boolean;
  /** The program is for several devices. */
  readonly mesh: boolean;
}

/** Writes the operations of one function or region as StableHLO text. */
export class HloWriter {
  readonly lines: string[] = [];
  readonly #names = new Map<Value, string>();
  readonly #shared: Shared;
  readonly #indent: string;

  constructor(shared: Shared = { next: 0, functions: [], smallLoops: false, mesh: false }, indent = "    ") {
    this.#shared = shared;
    this.#indent = indent;
  }

  /** True if the compiler turns a small loop into one kernel. */
  get smallLoops(): boolean {
    return this.#shared.smallLoops;
  }

  /** True in a program for several devices, in which shardings mean something. */
  get mesh(): boolean {
    return this.#shared.mesh;
  }

  /** A name no other value has. */
  fresh(prefix = "v"): string {
    return `%${prefix}${this.#shared.next++}`;
  }

  line(text: string): void {
    this.lines.push(this.#indent + text);
  }

  /** Writes `%new = text` and gives the name. */
  put(text: string): string {
    const name = this.fresh();
    this.line(`${name} = ${text}`);
    return name;
  }

  /** Writes an operation with several results and gives their names. */
  putMany(count: number, text: string): readonly string[] {
    const name = this.fresh();
    this.line(`${name}:${count} = ${text}`);
    return Array.from({ length: count }, (_, i) => `${name}#${i}`);
  }

  /** Writes an operation with one result of a type of its own: `stablehlo.reshape %x : (f32[2]) -> f32[2,1]`. */
  apply(
    op: string,
    names: readonly string[],
    inputs: readonly Typed[],
    result: Typed,
    attributes = "",
  ): string {
    return this.put(
      `stablehlo.${op} ${names.join(", ")}${attributes} : (${hloTypes(inputs)}) -> ${hloType(result)}`,
    );
  }

  /** Writes an operation whose operands and result are all of one type. */
  each(op: string, names: readonly string[], type: Typed): string {
    return this.put(`stablehlo.${op} ${names.join(", ")} : ${hloType(type)}`);
  }

  /** Writes a comparison of two values of one type. */
  compare(direction: string, x: string, y: string, type: Typed): string {
    const { dtype, shape } = type;
    const kind = isFloat(dtype) ? "FLOAT" : dtype === "i32" ? "SIGNED" : "UNSIGNED";
    return this.apply("compare", [direction, x, y], [type, type], { dtype: "bool", shape }, `, ${kind}`);
  }

  /**
   * The text of an operation with a body, which says what it does with elements: `write` gets the names of scalars of
   * these types and gives its results with theirs. `rest` is what follows the body.
   */
  withBody(
    op: string,
    names: readonly string[],
    scalars: readonly DType[],
    write: (inner: HloWriter, args: Several<string>) => readonly (readonly [name: string, dtype: DType])[],
    rest: string,
  ): string {
    const args = scalars.map(() => this.fresh("a"));
    const inner = this.nested();
    const results = write(inner, several(args));
    const types = results.map(([, dtype]) => hloScalar(dtype));
    inner.line(`stablehlo.return ${results.map(([name]) => name).join(", ")} : ${types.join(", ")}`);
    return [
      `"stablehlo.${op}"(${names.join(", ")}) ({`,
      `    ^bb0(${args.map((arg, i) => `${arg}: ${hloScalar(scalars[i] as DType)}`).join(", ")}):`,
      ...inner.lines,
      `    }) ${rest}`,
    ].join("\n");
  }

  /** Writes an operation over values of given types, of which the compiler makes one kernel, and gives the results. */
  putSmall(
    inputs: readonly string[],
    types: readonly string[],
    text: (inputs: readonly string[]) => string,
  ): readonly string[] {
    const name = `small${this.#shared.next++}`;
    const all = types.join(", ");
    const tuple = `tuple<${all}>`;
    // In one tuple: with arguments of their own, of which one turns out not to be needed, the compiler gives up.
    const element = (from: string, i: number): string =>
      `stablehlo.get_tuple_element ${from}[${i}] : (${tuple}) -> ${types[i]}`;
    const args = types.map((_, i) => `%arg${i}`);
    this.#shared.functions.push(
      `  func.func private @${name}(%given: ${tuple}) -> ${tuple} {`,
      ...args.map((arg, i) => `    ${arg} = ${element("%given", i)}`),
      `    %all:${types.length} = ${text(args)}`,
      `    %result = stablehlo.tuple ${types.map((_, i) => `%all#${i}`).join(", ")} : ${tuple}`,
      `    return %result : ${tuple}`,
      "  }",
    );
    const marks = 'mhlo.frontend_attributes = {inlineable = "false", xla_cpu_small_call = "true"}';
    const given = this.put(`stablehlo.tuple ${inputs.join(", ")} : ${tuple}`);
    const result = this.put(`func.call @${name}(${given}) {${marks}} : (${tuple}) -> ${tuple}`);
    return types.map((_, i) => this.put(element(result, i)));
  }

  /** A constant of one repeated number. */
  splat(value: number, type: TensorType): string {
    return this.put(`stablehlo.constant dense<${literal(value, type.dtype)}> : ${hloType(type)}`);
  }

  /** A scalar constant. */
  scalar(value: number, dtype: DType): string {
    return this.splat(value, tensorType(dtype, []));
  }

  bind(value: Value, name: string): void {
    this.#names.set(value, name);
  }

  name(value: Value): string {
    const name = this.#names.get(value);
    if (name === undefined) throw new Error(`value ${value.id} (${value.node.op.name}) was not written`);
    return name;
  }

  /** Writes all nodes of a program whose inputs are bound. */
  program(program: Program): readonly string[] {
    for (const node of program.nodes) {
      const rule = node.op.stablehlo;
      if (isLacking(rule))
        throw new EspalierError("OP_UNSUPPORTED", `the xla engine has no ${node.op.name}: ${rule.lacking}`, {
          fix: 'run this function on the wasm engine: compile(fn, { engine: "wasm" })',
        });
      const results = rule(this, several(node.inputs.map((input) => this.name(input))), node);
      node.outputs.forEach((output, i) => {
        this.bind(output, results[i] as string);
      });
    }
    return program.outputs.map((output) => this.name(output));
  }

  /**
   * Writes the body of a region into a nested writer whose lines the caller places; `names` are those of its
   * parameters, then captures.
   */
  region(
    region: Region,
    names: readonly string[],
  ): { readonly lines: readonly string[]; readonly results: readonly string[] } {
    const nested = new HloWriter(this.#shared, `${this.#indent}    `);
    [...region.params, ...region.captures].forEach((value, i) => {
      nested.bind(value, names[i] as string);
    });
    const results = nested.program(regionProgram(region));
    return { lines: nested.lines, results };
  }

  /** A nested writer for lines inside a region that no graph describes. */
  nested(): HloWriter {
    return new HloWriter(this.#shared, `${this.#indent}    `);
  }
}

/** How an array lies on the devices of the mesh: sharded along one axis, or whole on each of them. */
export const hloSharding = ({ shape }: TensorType, axis: number | null | undefined): string =>
  `<@mesh, [${shape.map((_, i) => (i === axis ? '{"data"}' : "{}")).join(", ")}]>`;

/** A number as StableHLO writes it; not-finite floats by their bits. */
export function literal(value: number, dtype: DType): string {
  if (dtype === "bool") return value ? "true" : "false";
  if (!isFloat(dtype)) return String(Math.trunc(value));
  if (Object.is(value, -0)) return "-0.0";
  if (Number.isFinite(value)) return value.toExponential().replace(/^(-?\d)e/, "$1.0e");
  const bits: Readonly<Record<string, readonly [string, string, string]>> = {
    f32: ["0x7F800000", "0xFF800000", "0x7FC00000"],
    f64: ["0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000"],
    f16: ["0x7C00", "0xFC00", "0x7E00"],
    bf16: ["0x7F80", "0xFF80", "0x7FC0"],
  };
  const [plus, minus, nan] = bits[dtype] as readonly [string, string, string];
  return Number.isNaN(value) ? nan : value > 0 ? plus : minus;
}

export interface ModuleOptions {
  /** Indices of inputs whose memory an output may take over, each with that output's index. */
  readonly aliases?: ReadonlyMap<number, number>;
  /** True if the compiler turns a small loop into one kernel: that of the CPU does. */
  readonly smallLoops?: boolean;
  /** Devices that it runs on together, and the axes along which inputs and outputs are sharded over them. */
  readonly mesh?: {
    readonly count: number;
    readonly inputs: readonly (number | undefined)[];
    readonly outputs: readonly (number | undefined)[];
  };
}

/** The StableHLO module of a program. */
export function writeModule(program: Program, options: ModuleOptions = {}): string {
  const { aliases, smallLoops = false, mesh } = options;
  const functions: string[] = [];
  const writer = new HloWriter({ next: 0, functions, smallLoops, mesh: mesh !== undefined });
  const sharding = (type: TensorType, axis: number | undefined): string =>
    `sdy.sharding = #sdy.sharding${hloSharding(type, axis)}`;
  const args = program.inputs.map((input, i) => {
    const name = `%arg${i}`;
    writer.bind(input, name);
    const alias = aliases?.get(i);
    const attributes = [
      ...(alias === undefined ? [] : [`tf.aliasing_output = ${alias} : i32`]),
      ...(mesh ? [sharding(input.type, mesh.inputs[i])] : []),
    ];
    return `${name}: ${hloType(input.type)}${attributes.length > 0 ? ` {${attributes.join(", ")}}` : ""}`;
  });
  const results = writer.program(program);
  const types = program.outputs.map((output) => hloType(output.type)).join(", ");
  const outputs = program.outputs.map(
    ({ type }, i) => `${hloType(type)}${mesh ? ` {${sharding(type, mesh.outputs[i])}}` : ""}`,
  );
  const lines = [
    "module @espalier {",
    ...(mesh ? [`  sdy.mesh @mesh = <["data"=${mesh.count}]>`] : []),
    `  func.func public @main(${args.join(", ")}) -> (${outputs.join(", ")}) {`,
    ...writer.lines,
    `    return ${results.join(", ")} : ${types}`,
    "  }",
    ...functions,
    "}",
  ];
  return results.length === 0 ? lines.join("\n").replace(/return {2}: $/m, "return") : lines.join("\n");
}
