import { isFloat } from "./dtype.ts";
import { userError } from "./location.ts";
import { isLacking, several } from "./op.ts";
import type { Node, Value } from "./value.ts";

/** Adds cotangents. Set by the ops, which import this file. */
export type Add = (a: Value, b: Value) => Value;

/**
 * Reverse-mode derivatives over the graph: the cotangents of `wrt` from those of `outputs`, as more graph.
 * `undefined` stands for zero, both ways.
 */
export function differentiate(
  outputs: readonly Value[],
  cotangents: readonly (Value | undefined)[],
  wrt: readonly Value[],
  add: Add,
): (Value | undefined)[] {
  const sums = new Map<Value, Value>();
  const accumulate = (value: Value, cotangent: Value | undefined) => {
    if (!cotangent || !isFloat(value.dtype)) return;
    const sum = sums.get(value);
    sums.set(value, sum ? add(sum, cotangent) : cotangent);
  };
  outputs.forEach((output, i) => {
    accumulate(output, cotangents[i]);
  });
  const targets = new Set(wrt);
  const between = dependants(outputs, targets);
  // Ids grow with creation and inputs precede their users, so descending ids are a reverse order of the graph.
  for (const node of [...between].sort((a, b) => b.id - a.id)) {
    const given = node.outputs.map((output) => sums.get(output));
    if (given.every((cotangent) => cotangent === undefined)) continue;
    const rule = node.op.derivative;
    if (isLacking(rule))
      throw userError(
        "NO_DERIVATIVE",
        `${node.op.name} has no derivative: ${rule.lacking}`,
        "wrap what should count as constant in stopGradient, or give a rule with customGradient",
      );
    const needed = node.inputs.map((input) => between.has(input.node) || targets.has(input));
    rule(node, several(given), needed).forEach((cotangent, i) => {
      if (needed[i]) accumulate(node.inputs[i] as Value, cotangent);
    });
  }
  return wrt.map((value) => sums.get(value));
}

/** The nodes that lie between `wrt` and `outputs`, through floating-point values only. */
function dependants(outputs: readonly Value[], targets: ReadonlySet<Value>): Set<Node> {
  let oldest = Number.POSITIVE_INFINITY;
  for (const target of targets) oldest = Math.min(oldest, target.node.id);
  const verdicts = new Map<Node, boolean>();
  const found = new Set<Node>();
  const stack: { readonly node: Node; next: number }[] = [];
  const enter = (value: Value) => {
    const { node } = value;
    if (verdicts.has(node)) return;
    verdicts.set(node, false);
    if (node.id > oldest) stack.push({ node, next: 0 });
  };
  for (const output of outputs) {
    enter(output);
    while (stack.length > 0) {
      const top = stack[stack.length - 1] as { readonly node: Node; next: number };
      const input = top.node.inputs[top.next++];
      if (input) {
        enter(input);
        continue;
      }
      stack.pop();
      const { node } = top;
      if (node.op.name === "stopGradient") continue;
      if (node.inputs.some((v) => isFloat(v.dtype) && (targets.has(v) || verdicts.get(v.node) === true))) {
        verdicts.set(node, true);
        found.add(node);
      }
    }
  }
  return found;
}
