import { EspalierError } from "../../core/index.ts";
import { isLacking, isOnHost, type Jax, type JaxArray, several } from "../trace/op.ts";
import { type Program, regionProgram } from "../trace/program.ts";
import type { Region } from "../trace/region.ts";
import type { Node, Value } from "../trace/value.ts";
import { jaxEmpty } from "./dtype.ts";

/** A function over arrays that it owns; made once for a program and called many times. */
export type WasmFunction = (arrays: readonly JaxArray[]) => readonly JaxArray[];

/** A part of a program: one node, or a stretch of nodes that jax-js compiles together. */
interface Step {
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
  readonly run: WasmFunction;
}

/** One use of an array that a program holds. */
interface Use {
  readonly place: number;
  readonly last: boolean;
}

/**
 * Steps one after the other. jax-js frees an array when it is used, unless a reference was taken before: every use but
 * the last takes one, and what is not used is dropped.
 */
function inSequence(
  steps: readonly Step[],
  inputs: readonly Value[],
  outputs: readonly Value[],
): WasmFunction {
  const places = new Map<Value, number>();
  /** To be asked from the last values to the first: what has no place yet is not used later. */
  const usesOf = (values: readonly Value[]): readonly Use[] => {
    const last = values.map((value, i) => !places.has(value) && !values.includes(value, i + 1));
    for (const value of values) if (!places.has(value)) places.set(value, places.size);
    return values.map((value, i) => ({ place: places.get(value) as number, last: last[i] as boolean }));
  };
  const placesOf = (values: readonly Value[]) => values.map((value) => places.get(value));
  const results = usesOf(outputs);
  const reversed = steps.toReversed().map((step) => {
    const made = placesOf(step.outputs);
    return { run: step.run, made, uses: usesOf(step.inputs) };
  });
  const sequence = reversed.reverse();
  const given = placesOf(inputs);
  return (arrays) => {
    const held: JaxArray[] = [];
    hold(held, given, arrays);
    for (const { run, made, uses } of sequence) hold(held, made, run(take(held, uses)));
    return take(held, results);
  };
}

/** Puts arrays in their places, and drops those without one. */
function hold(held: JaxArray[], places: readonly (number | undefined)[], arrays: readonly JaxArray[]): void {
  for (let i = 0; i < places.length; i++) {
    const place = places[i];
    const array = arrays[i] as JaxArray;
    if (place === undefined) array.dispose();
    else held[place] = array;
  }
}

const take = (held: readonly JaxArray[], uses: readonly Use[]): JaxArray[] =>
  uses.map(({ place, last }) => {
    const array = held[place];
    if (!array) throw new Error("a value of the program was not computed");
    return last ? array : array.ref;
  });

/** Turns a program into stretches under jax-js's `jit`, with loops and branches between them on the host. */
export function wasmFunction(j: Jax, program: Program): WasmFunction {
  const regions = regionCache(j);
  const steps = plan(program).map((nodes) => makeStep(j, nodes, program, regions));
  return inSequence(steps, program.inputs, program.outputs);
}

/** Ops whose results jax-js keeps in memory. It joins all others into expressions, up to the next of these. */
const kept = new Set(
  "reduceSum reduceMax reduceMin reduceProd reduceAnd reduceOr argExtremum dotGeneral convolution gather scatterAdd scatterSet sort lastWrites".split(
    " ",
  ),
);

/**
 * The longest expression, its parts counted as often as they are used: jax-js writes some of them out at each use, and
 * a chain of 32 steps that use the step before twice never ends. What crosses from stretch to stretch is in memory.
 */
const longest = 4096;

/** Cuts the nodes into stretches: each host node alone, the others as long as they go. */
function plan(program: Program): Node[][] {
  const stretches: Node[][] = [];
  const lengths = new Map<Value, number>();
  let open: Node[] | undefined;
  const length = (node: Node): number =>
    kept.has(node.op.name) ? 1 : node.inputs.reduce((sum, input) => sum + (lengths.get(input) ?? 1), 1);
  for (const node of program.nodes) {
    if (isOnHost(node.op.wasm)) {
      stretches.push([node]);
      open = undefined;
      continue;
    }
    if (!open || length(node) > longest) {
      open = [];
      stretches.push(open);
      lengths.clear();
    }
    open.push(node);
    for (const output of node.outputs) lengths.set(output, length(node));
  }
  return stretches;
}

function makeStep(
  j: Jax,
  nodes: readonly Node[],
  program: Program,
  regions: (region: Region) => WasmFunction,
): Step {
  const [first] = nodes;
  const column = first?.op.wasm;
  if (first && isOnHost<unknown>(column)) {
    const { inputs, outputs } = first;
    return { inputs, outputs, run: (arrays) => column.onHost(j, several(arrays), first, regions) };
  }
  const made = new Set(nodes.flatMap((node) => [...node.outputs]));
  const inputs = [...new Set(nodes.flatMap((node) => node.inputs.filter((input) => !made.has(input))))];
  const inside = new Set(nodes);
  const needed = new Set(program.outputs);
  for (const node of program.nodes) if (!inside.has(node)) for (const input of node.inputs) needed.add(input);
  const outputs = [...made].filter((value) => needed.has(value));
  const steps = nodes.map(
    (node): Step => ({
      inputs: node.inputs,
      outputs: node.outputs,
      run: (arrays) => runNode(j, arrays, node),
    }),
  );
  const traced = inSequence(steps, inputs, outputs);
  const jitted = j.jit((...arrays: JaxArray[]) => [...traced(arrays)]);
  return { inputs, outputs, run: (arrays) => jitted(...arrays) };
}

/** Runs one node on jax-js arrays, which it owns. */
function runNode(j: Jax, arrays: readonly JaxArray[], node: Node): readonly JaxArray[] {
  const rule = node.op.wasm;
  if (isLacking(rule) || isOnHost(rule))
    throw new EspalierError(
      "OP_UNSUPPORTED",
      `the wasm engine has no ${node.op.name}${isLacking(rule) ? `: ${rule.lacking}` : ""}`,
      { fix: "install the xla engine: npx espalier engine install" },
    );
  if (node.outputs.some((output) => output.size > 0)) return rule(j, several(arrays), node);
  // jax-js's kernels do not take tensors without elements; what has none needs no computing.
  for (const array of arrays) array.dispose();
  return node.outputs.map((output) => jaxEmpty(j, output.type));
}

function regionCache(j: Jax): (region: Region) => WasmFunction {
  const made = new WeakMap<Region, WasmFunction>();
  return (region) => {
    const known = made.get(region);
    if (known) return known;
    const fn = wasmFunction(j, regionProgram(region));
    made.set(region, fn);
    return fn;
  };
}
