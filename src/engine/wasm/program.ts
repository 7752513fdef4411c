import { isOnHost, type Jax, type JaxArray, several } from "../trace/op.ts";
import { type Program, regionProgram } from "../trace/program.ts";
import type { Region } from "../trace/region.ts";
import type { Node, Value } from "../trace/value.ts";
import { runStraight } from "./straight.ts";

/** A stretch of a program: nodes jax-js compiles together, or one node that runs on the host. */
interface Step {
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
  /** Owns the arrays it is given. */
  readonly run: (arrays: readonly JaxArray[]) => readonly JaxArray[];
}

/** A function over arrays that it owns; made once for a program and called many times. */
export type WasmFunction = (arrays: readonly JaxArray[]) => readonly JaxArray[];

const onHost = (node: Node): boolean => isOnHost(node.op.wasm);

/** Turns a program into stretches under jax-js's `jit`, with loops and branches between them on the host. */
export function wasmFunction(j: Jax, program: Program): WasmFunction {
  const regions = regionCache(j);
  const steps = plan(program).map((nodes) => makeStep(j, nodes, program, regions));
  const lastUse = new Map<Value, number>();
  steps.forEach((step, at) => {
    for (const input of step.inputs) lastUse.set(input, at);
  });
  const outputUses = new Map<Value, number>();
  for (const output of program.outputs) outputUses.set(output, (outputUses.get(output) ?? 0) + 1);

  return (arrays) => {
    const env = new Map<Value, JaxArray>();
    program.inputs.forEach((input, i) => {
      env.set(input, arrays[i] as JaxArray);
    });
    steps.forEach((step, at) => {
      const given = step.inputs.map((input) => {
        const array = env.get(input) as JaxArray;
        if (lastUse.get(input) !== at || outputUses.has(input)) return array.ref;
        env.delete(input);
        return array;
      });
      const results = step.run(given);
      step.outputs.forEach((output, i) => env.set(output, results[i] as JaxArray));
    });
    const results = program.outputs.map((output) => (env.get(output) as JaxArray).ref);
    for (const array of env.values()) array.dispose();
    return results;
  };
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
    if (onHost(node)) {
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
  const made = new Set(nodes.flatMap((node) => [...node.outputs]));
  const inputs = [...new Set(nodes.flatMap((node) => node.inputs.filter((input) => !made.has(input))))];
  const [first] = nodes;
  if (first && onHost(first)) {
    const column = first.op.wasm;
    if (!isOnHost<unknown>(column)) throw new Error("host node without host column");
    const at = first.inputs.map((input) => inputs.indexOf(input));
    return {
      inputs,
      outputs: first.outputs,
      run: (arrays) => {
        const given = at.map((i) => (arrays[i] as JaxArray).ref);
        for (const array of arrays) array.dispose();
        return column.onHost(j, several(given), first, regions);
      },
    };
  }
  const inside = new Set(nodes);
  const needed = new Set(program.outputs);
  for (const node of program.nodes) if (!inside.has(node)) for (const input of node.inputs) needed.add(input);
  const outputs = [...made].filter((value) => needed.has(value));
  const jitted = j.jit((...arrays: JaxArray[]) => runStraight(j, nodes, inputs, outputs, arrays));
  return { inputs, outputs, run: (arrays) => jitted(...arrays) };
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
