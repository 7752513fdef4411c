import { isConstant, postorder, type Region } from "./region.ts";
import { cloneNode, type Node, type Value } from "./value.ts";

/** A graph ready for an engine: inputs, the nodes that matter in order, outputs. */
export interface Program {
  readonly inputs: readonly Value[];
  readonly nodes: readonly Node[];
  readonly outputs: readonly Value[];
}

/**
 * Parameters of a node whose first outputs equal those of every node of another family on the same inputs: a loop
 * that also keeps what its gradient needs. `inputs` says which of its inputs are the other's, in the other's order.
 */
export interface Augmenting {
  readonly family: number;
  readonly augments?: { readonly family: number; readonly inputs: readonly number[] };
}

/** Parameters of a node that stands for its region's body, put in its place before an engine sees it. */
export interface Calling {
  readonly called: Region;
}

/** Cuts a graph down to what `outputs` need, merges augmented nodes and puts called regions in their place. */
export function programOf(inputs: readonly Value[], outputs: readonly Value[]): Program {
  return expandCalls(mergeAugmented({ inputs, outputs, nodes: order(inputs, outputs) }));
}

/** The program of a region's body: parameters, then captures, are its inputs. */
export const regionProgram = (region: Region): Program =>
  programOf([...region.params, ...region.captures], region.outputs);

function order(
  inputs: readonly Value[],
  outputs: readonly Value[],
  resolve?: (value: Value) => Value,
): Node[] {
  const bound = new Set(inputs);
  return postorder(outputs, (value) => bound.has(value), resolve);
}

/** Where a node augments another that is needed too, the richer one serves both: such a loop runs forward once. */
function mergeAugmented(program: Program): Program {
  const byFamily = new Map<number, Node[]>();
  for (const node of program.nodes) {
    const { family } = (node.params ?? {}) as Partial<Augmenting>;
    if (family !== undefined) byFamily.set(family, [...(byFamily.get(family) ?? []), node]);
  }
  const replaced = new Map<Value, Value>();
  for (const node of program.nodes) {
    const { augments } = (node.params ?? {}) as Partial<Augmenting>;
    if (!augments) continue;
    const poorer = byFamily.get(augments.family)?.find((other) => servesAs(node, augments.inputs, other));
    poorer?.outputs.forEach((output, i) => {
      if (!replaced.has(output)) replaced.set(output, node.outputs[i] as Value);
    });
  }
  if (replaced.size === 0) return program;
  const resolve = (value: Value): Value => {
    const other = replaced.get(value);
    return other ? resolve(other) : value;
  };
  const outputs = program.outputs.map(resolve);
  return rebuild(
    { inputs: program.inputs, outputs, nodes: order(program.inputs, outputs, resolve) },
    resolve,
  );
}

function servesAs(richer: Node, inputs: readonly number[], poorer: Node): boolean {
  if (inputs.length !== poorer.inputs.length) return false;
  return poorer.inputs.every((input, k) => {
    const at = inputs[k] as number;
    return at < 0 ? isConstant(input) : richer.inputs[at] === input;
  });
}

/** Rewrites the nodes of a program over other inputs, keeping those that do not change. */
function rebuild(program: Program, resolve: (value: Value) => Value): Program {
  const renamed = new Map<Value, Value>();
  const current = (value: Value): Value => {
    const resolved = resolve(value);
    return renamed.get(resolved) ?? resolved;
  };
  const nodes = program.nodes.map((node) => {
    const inputs = node.inputs.map(current);
    if (inputs.every((input, i) => input === node.inputs[i])) return node;
    const clone = cloneNode(node, inputs);
    node.outputs.forEach((output, i) => renamed.set(output, clone.outputs[i] as Value));
    return clone;
  });
  return { inputs: program.inputs, nodes, outputs: program.outputs.map(current) };
}

function expandCalls(program: Program): Program {
  if (!program.nodes.some((node) => "called" in (node.params as object))) return program;
  const nodes: Node[] = [];
  const expand = (part: Program, env: Map<Value, Value>): Value[] => {
    const current = (value: Value): Value => env.get(value) ?? value;
    for (const node of part.nodes) {
      const inputs = node.inputs.map(current);
      const { called } = node.params as Partial<Calling>;
      if (called) {
        const formals = [...called.params, ...called.captures];
        const body = order(formals, called.outputs);
        const inner = new Map(formals.map((formal, i) => [formal, inputs[i] as Value]));
        // Bodies are cloned whole: the same region may be called more than once.
        const results = expand(
          mergeAugmented({ inputs: formals, nodes: body, outputs: called.outputs }),
          inner,
        );
        node.outputs.forEach((output, i) => env.set(output, results[i] as Value));
        continue;
      }
      const clone = cloneNode(node, inputs);
      node.outputs.forEach((output, i) => env.set(output, clone.outputs[i] as Value));
      nodes.push(clone);
    }
    return part.outputs.map(current);
  };
  const outputs = expand(program, new Map());
  return { inputs: program.inputs, nodes, outputs };
}
