import type { EspalierError } from "../../core/index.ts";
import type { ValueMethods } from "../np/methods.ts";
import type { DType } from "./dtype.ts";
import { userError } from "./location.ts";
import { defineOp, lacking, type Op, type Several, several } from "./op.ts";
import type { Shape, TensorType } from "./type.ts";

/**
 * A place in the nesting of traced functions. A node belongs to the innermost scope it depends on, so that whatever
 * a loop body computes from outside alone moves out of the loop. A pinned scope (a branch) keeps all that is made in it.
 */
export interface Scope {
  readonly id: number;
  readonly depth: number;
  readonly parent: Scope | undefined;
  readonly pinned: boolean;
  closed: boolean;
}

/** One application of an op. Immutable. */
export interface Node<P = unknown> {
  readonly id: number;
  readonly op: Op<P>;
  readonly params: P;
  readonly inputs: Several<Value>;
  readonly outputs: Several<Value>;
  readonly scope: Scope;
}

/**
 * A value of the graph being traced: what functions given to `compile` compute with.
 * It has a shape and an element type, but no numbers until the compiled function runs.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: see the interface below
export class Value {
  readonly id: number;
  /** @internal */
  readonly node: Node;
  readonly type: TensorType;

  /** @internal */
  constructor(id: number, node: Node, type: TensorType) {
    this.id = id;
    this.node = node;
    this.type = type;
  }

  get shape(): Shape {
    return this.type.shape;
  }
  get dtype(): DType {
    return this.type.dtype;
  }
  /** The number of axes. */
  get ndim(): number {
    return this.type.shape.length;
  }
  /** The number of elements. */
  get size(): number {
    return this.type.size;
  }
  toString(): string {
    return `Value(${this.type.text})`;
  }
  [Symbol.toPrimitive](): never {
    throw userError(
      "TRACED_VALUE_USED_AS_NUMBER",
      `a traced ${this.type.text} was used as a JavaScript number or string; it has no numbers while tracing`,
      "use np.where or cond instead of if, np.add instead of +, and read results outside compile",
    );
  }
}

/** The functions of `np` as methods; `np` installs them. */
export interface Value extends ValueMethods {}

/** State of one trace. */
export interface Trace {
  readonly root: Scope;
  scope: Scope;
  /** The reason why the engine of this trace lacks an element type; undefined if it has it. */
  readonly lacks: (dtype: DType) => string | undefined;
  /** Equal nodes made once: key to node. */
  readonly made: Map<string, Node>;
  /** Concrete tensors met while tracing, each an extra input. */
  readonly captured: Map<object, Value>;
}

let nextId = 1;
let active: Trace | undefined;

const newScope = (parent: Scope | undefined, pinned: boolean): Scope => ({
  id: nextId++,
  depth: parent ? parent.depth + 1 : 0,
  parent,
  pinned,
  closed: false,
});

/** Runs `body` as the tracing of one compiled function. Tracing is synchronous; traces nest but do not mix. */
export function withTrace<T>(lacks: Trace["lacks"], body: (trace: Trace) => T): T {
  const outer = active;
  const root = newScope(undefined, true);
  const trace: Trace = { root, scope: root, lacks, made: new Map(), captured: new Map() };
  active = trace;
  try {
    return body(trace);
  } finally {
    root.closed = true;
    active = outer;
  }
}

/** The trace under way; an error outside `compile`. */
export function currentTrace(what = "math"): Trace {
  if (!active)
    throw userError(
      "NOT_TRACING",
      `${what} was called outside a compiled function`,
      "put the math into a function and call compile(fn)(...args); make tensors from data with put(...)",
    );
  return active;
}

export const isTracing = (): boolean => active !== undefined;

/** Runs `body` in a new scope of the current trace, closed afterwards. */
export function inScope<T>(pinned: boolean, body: (scope: Scope) => T): T {
  const trace = currentTrace();
  const outer = trace.scope;
  const scope = newScope(outer, pinned);
  trace.scope = scope;
  try {
    return body(scope);
  } finally {
    scope.closed = true;
    trace.scope = outer;
  }
}

function pinnedScope(scope: Scope): Scope {
  let at = scope;
  while (!at.pinned && at.parent) at = at.parent;
  return at;
}

/** Nodes and regions. */
const isGraphPart = (value: unknown): value is object =>
  typeof value === "object" && value !== null && "outputs" in value;

const keys = new WeakMap<object, string>();
let nextKey = 1;

/** A text that is equal for equal parameters; objects that are not plain data count by identity. */
function paramsKey(params: unknown): string {
  return JSON.stringify(params, (_key, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) return `#${value}`;
    if (Object.is(value, -0)) return "#-0";
    if (typeof value === "function" || ArrayBuffer.isView(value) || isGraphPart(value)) {
      const known = keys.get(value) ?? `@${nextKey++}`;
      keys.set(value, known);
      return known;
    }
    return value;
  });
}

/** Applies an op: checks, merges with an equal node where there is one, and gives the outputs. */
export function emit<P>(op: Op<P>, inputs: readonly Value[], params: P): readonly Value[] {
  const trace = currentTrace(op.name);
  let scope = pinnedScope(trace.scope);
  let key = op.unique ? "" : op.name;
  for (const input of inputs) {
    const from = input.node.scope;
    if (from.closed) throw leaked(op.name, input);
    if (from.depth > scope.depth) scope = from;
    if (!op.unique) key += `,${input.id}`;
  }
  if (!op.unique) {
    key += `;${scope.id};${paramsKey(params)}`;
    const made = trace.made.get(key);
    if (made) return made.outputs;
  }
  const types = op.type(several(inputs.map((input) => input.type)), params);
  for (const type of types) {
    const reason = trace.lacks(type.dtype);
    if (reason) throw userError("DTYPE_UNSUPPORTED", `${op.name}: ${reason}`, "use f32, or another engine");
  }
  const outputs: Value[] = [];
  const node: Node<P> = {
    id: nextId++,
    op,
    params,
    inputs: several(inputs),
    outputs: several(outputs),
    scope,
  };
  for (const type of types) outputs.push(new Value(nextId++, node as Node, type));
  if (!op.unique) trace.made.set(key, node as Node);
  return outputs;
}

/** The same op on other inputs of the same types, outside any trace: for rewriting finished graphs. */
export function cloneNode(node: Node, inputs: readonly Value[]): Node {
  const outputs: Value[] = [];
  const clone: Node = { ...node, id: nextId++, inputs: several(inputs), outputs: several(outputs) };
  for (const output of node.outputs) outputs.push(new Value(nextId++, clone, output.type));
  return clone;
}

/** Applies an op with one output. */
export function emit1<P>(op: Op<P>, inputs: readonly Value[], params: P): Value {
  return emit(op, inputs, params)[0] as Value;
}

function leaked(op: string, value: Value): EspalierError {
  return userError(
    "VALUE_ESCAPED",
    `${op}: a ${value.type.text} made inside another traced function (a loop body, a branch or an earlier compile) is used outside it`,
    "return the value from the inner function instead of storing it in a variable outside",
  );
}

const placeholderOp = defineOp<Record<string, never>>({
  name: "placeholder",
  type: () => [],
  derivative: lacking("it has no inputs"),
  batch: lacking("bound by its creator"),
  stablehlo: lacking("bound by the engine"),
  wasm: lacking("bound by the engine"),
  unique: true,
});

/** An input of a compiled function or of a region. */
export function placeholder(type: TensorType, scope: Scope): Value {
  const outputs: Value[] = [];
  const node: Node = {
    id: nextId++,
    op: placeholderOp as Op,
    params: {},
    inputs: several([]),
    outputs: several(outputs),
    scope,
  };
  outputs.push(new Value(nextId++, node, type));
  return outputs[0] as Value;
}
