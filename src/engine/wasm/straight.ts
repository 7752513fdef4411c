import { EspalierError } from "../../core/index.ts";
import { isLacking, isOnHost, type Jax, type JaxArray, several } from "../trace/op.ts";
import type { Node, Value } from "../trace/value.ts";
import { jaxEmpty } from "./dtype.ts";

/** Number of uses of each value by nodes and as an output. */
function useCounts(nodes: readonly Node[], outputs: readonly Value[]): Map<Value, number> {
  const uses = new Map<Value, number>();
  const count = (value: Value) => uses.set(value, (uses.get(value) ?? 0) + 1);
  for (const node of nodes) for (const input of node.inputs) count(input);
  for (const output of outputs) count(output);
  return uses;
}

/**
 * Runs nodes one after the other on jax-js arrays. jax-js frees an array when it is used, unless a reference was
 * taken before: every use but the last takes one, and unused values are dropped.
 */
export function runStraight(
  j: Jax,
  nodes: readonly Node[],
  inputs: readonly Value[],
  outputs: readonly Value[],
  arrays: readonly JaxArray[],
): JaxArray[] {
  const left = useCounts(nodes, outputs);
  const env = new Map<Value, JaxArray>();
  const define = (value: Value, array: JaxArray) => {
    if (left.has(value)) env.set(value, array);
    else array.dispose();
  };
  const use = (value: Value): JaxArray => {
    const array = env.get(value);
    if (!array) throw new Error(`value ${value.id} (${value.node.op.name}) was not computed`);
    const remaining = (left.get(value) ?? 0) - 1;
    left.set(value, remaining);
    return remaining > 0 ? array.ref : array;
  };
  inputs.forEach((value, i) => {
    define(value, arrays[i] as JaxArray);
  });
  for (const node of nodes) {
    const rule = node.op.wasm;
    if (isLacking(rule) || isOnHost(rule))
      throw new EspalierError(
        "OP_UNSUPPORTED",
        `the wasm engine has no ${node.op.name}${isLacking(rule) ? `: ${rule.lacking}` : ""}`,
        { fix: "install the xla engine: npx espalier engine install" },
      );
    const given = several(node.inputs.map(use));
    const results = node.outputs.every((output) => output.size === 0)
      ? empty(j, given, node)
      : rule(j, given, node);
    node.outputs.forEach((output, i) => {
      define(output, results[i] as JaxArray);
    });
  }
  return outputs.map(use);
}

/** jax-js's kernels do not take tensors without elements; what has none needs no computing. */
function empty(j: Jax, inputs: readonly JaxArray[], node: Node): JaxArray[] {
  for (const input of inputs) input.dispose();
  return node.outputs.map((output) => jaxEmpty(j, output.type));
}
