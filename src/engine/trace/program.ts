import { several } from "./op.ts";
import type { Region } from "./region.ts";
import { postorder } from "./region.ts";
import type { Node, Value } from "./value.ts";

/** A graph ready for an engine: inputs, the nodes that matter in order, outputs. */
export interface Program {
  readonly inputs: readonly Value[];
  readonly nodes: readonly Node[];
  readonly outputs: readonly Value[];
}

/** Nodes whose results another node gives as well (a loop that also keeps what its gradient needs). */
export interface Augments {
  readonly augments?: Node;
}

/**
 * Cuts a graph down to what `outputs` need. Where a node augments another that is needed too, the richer one serves
 * both, so that a loop whose gradient is taken runs forward once.
 */
export function programOf(inputs: readonly Value[], outputs: readonly Value[]): Program {
  const bound = new Set(inputs);
  const stop = (value: Value) => bound.has(value);
  const first = postorder(outputs, stop);
  const richer = new Map<Node, Node>();
  const present = new Set(first);
  for (const node of first) {
    const poorer = (node.params as Augments | undefined)?.augments;
    if (poorer && present.has(poorer) && !richer.has(poorer)) richer.set(poorer, node);
  }
  if (richer.size === 0) return { inputs, nodes: first, outputs };
  const replaced = new Map<Value, Value>();
  for (const [poorer, node] of richer)
    poorer.outputs.forEach((output, i) => replaced.set(output, node.outputs[i] as Value));
  const resolve = (value: Value): Value => {
    const other = replaced.get(value);
    return other ? resolve(other) : value;
  };
  const resolved = outputs.map(resolve);
  const nodes = postorder(resolved, stop, resolve).map((node) =>
    node.inputs.some((input) => replaced.has(input))
      ? { ...node, inputs: several(node.inputs.map(resolve)) }
      : node,
  );
  return { inputs, nodes, outputs: resolved };
}

/** The program of a region's body: parameters, then captures, are its inputs. */
export const regionProgram = (region: Region): Program =>
  programOf([...region.params, ...region.captures], region.outputs);
