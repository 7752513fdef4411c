import { type Several, several } from "./op.ts";
import type { TensorType } from "./type.ts";
import { emit, inScope, type Node, placeholder, type Scope, type Value } from "./value.ts";

/**
 * A traced function inside the graph: a loop body or a branch. It is closed: its body refers to nothing but `params`
 * and `captures`. A node that holds regions takes the captures as its last inputs, in order, so transformations map
 * a region by position and never look into another's names.
 */
export interface Region {
  readonly params: readonly Value[];
  readonly captures: readonly Value[];
  readonly outputs: readonly Value[];
}

const isRegion = (value: unknown): value is Region =>
  typeof value === "object" && value !== null && "captures" in value && "outputs" in value;

/** The regions a node holds: a loop's body, a choice's branches. */
export function regionsOf(node: Node): readonly Region[] {
  const values = Object.values((node.params ?? {}) as object) as unknown[];
  return values.flatMap((value) =>
    Array.isArray(value) ? value.filter(isRegion) : isRegion(value) ? [value] : [],
  );
}

interface Traced {
  readonly scope: Scope;
  readonly params: readonly Value[];
  readonly outputs: readonly Value[];
}

/** Traces `fn` over placeholders of the given types. */
function trace(
  types: readonly TensorType[],
  pinned: boolean,
  fn: (params: readonly Value[]) => readonly Value[],
): Traced {
  return inScope(pinned, (scope) => {
    const params = types.map((type) => placeholder(type, scope));
    return { scope, params, outputs: fn(params) };
  });
}

/** Traces one function as a region. Unpinned (loops): what does not depend on the parameters is computed outside. */
export function traceRegion(
  types: readonly TensorType[],
  fn: (params: readonly Value[]) => readonly Value[],
): Region {
  const traced = trace(types, false, fn);
  return { params: traced.params, outputs: traced.outputs, captures: capturesOf([traced]) };
}

/** Traces several functions as regions that share one list of captures. Pinned (branches): nothing moves out. */
export function traceRegions(
  functions: readonly (readonly [
    types: readonly TensorType[],
    fn: (params: readonly Value[]) => readonly Value[],
  ])[],
  pinned: boolean,
): readonly Region[] {
  const traced = functions.map(([types, fn]) => trace(types, pinned, fn));
  const captures = capturesOf(traced);
  return traced.map(({ params, outputs }) => ({ params, outputs, captures }));
}

function within(scope: Scope, outer: Scope): boolean {
  let at: Scope | undefined = scope;
  while (at && at.depth > outer.depth) at = at.parent;
  return at === outer;
}

/** Constants cost less to make again inside a region than to hand in. */
export function isConstant(value: Value): boolean {
  const { op, inputs } = value.node;
  if (op.name === "constant" || op.name === "iota") return true;
  return op.name === "broadcastInDim" && isConstant(inputs[0] as Value);
}

/** The values from outside that the regions' bodies use. */
function capturesOf(regions: readonly Traced[]): readonly Value[] {
  const captures = new Set<Value>();
  for (const { scope, outputs } of regions) {
    const seen = new Set<Value>();
    const pending = [...outputs];
    for (let value = pending.pop(); value; value = pending.pop()) {
      if (seen.has(value)) continue;
      seen.add(value);
      if (within(value.node.scope, scope)) pending.push(...value.node.inputs);
      else if (!isConstant(value)) captures.add(value);
    }
  }
  return [...captures];
}

/** Puts the parts of a graph between `known` (values and what they stand for) and `outputs` into the current trace. */
export function substitute(outputs: readonly Value[], known: Map<Value, Value>): Value[] {
  return rewrite(outputs, known, (node, inputs) =>
    !node.scope.closed && inputs.every((input, i) => input === node.inputs[i])
      ? node.outputs
      : emit(node.op, inputs, node.params),
  );
}

/** Applies a region to actual values: parameters first, then captures. */
export function inline(region: Region, actuals: readonly Value[]): Value[] {
  const known = new Map<Value, Value>();
  region.params.forEach((param, i) => known.set(param, actuals[i] as Value));
  region.captures.forEach((capture, i) => known.set(capture, actuals[region.params.length + i] as Value));
  return substitute(region.outputs, known);
}

/** Walks a graph in order from `known` to `outputs`, giving each node's new outputs by `visit`. */
export function rewrite<T>(
  outputs: readonly Value[],
  known: Map<Value, T>,
  visit: (node: Node, inputs: Several<T>) => readonly T[],
): T[] {
  const order = postorder(outputs, (value) => known.has(value));
  for (const node of order) {
    const results = visit(node, several(node.inputs.map((input) => known.get(input) as T)));
    node.outputs.forEach((output, i) => {
      if (!known.has(output)) known.set(output, results[i] as T);
    });
  }
  return outputs.map((output) => known.get(output) as T);
}

/**
 * The nodes that `outputs` need, each after its inputs, not going past values for which `stop` holds.
 * `resolve` may name another value to use in a value's place.
 */
export function postorder(
  outputs: readonly Value[],
  stop: (value: Value) => boolean,
  resolve: (value: Value) => Value = (value) => value,
): Node[] {
  const order: Node[] = [];
  const done = new Set<Node>();
  const stack: { readonly node: Node; next: number }[] = [];
  const enter = (value: Value) => {
    if (stop(value) || done.has(value.node)) return;
    done.add(value.node);
    stack.push({ node: value.node, next: 0 });
  };
  for (const output of outputs) {
    enter(output);
    while (stack.length > 0) {
      const top = stack[stack.length - 1] as { readonly node: Node; next: number };
      const input = top.node.inputs[top.next++];
      if (input) enter(resolve(input));
      else {
        stack.pop();
        order.push(top.node);
      }
    }
  }
  return order;
}
