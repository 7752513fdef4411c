import { EspalierError, flatten, leafPaths } from "../core/index.ts";
import { np, type Shape, Value } from "../engine/index.ts";
import { checkShape, leavesLike, leavesOf, treeOf, wide } from "./leaves.ts";
import type { OptimizerState } from "./optimizer.ts";

/** State of one parameter, by name: `{ m, v }`. */
export type Moments = Readonly<Record<string, Value>>;

/** One parameter as an update sees it, all in at least f32. */
export interface Leaf {
  readonly path: string;
  readonly param: Value;
  readonly grad: Value;
  /** State of this parameter under a name. Default shape: the parameter's. */
  moment(name: string, shape?: Shape): Value;
}

/** Update of one parameter by a rule. */
export interface LeafUpdate {
  readonly update: Value;
  readonly moments?: Moments | undefined;
}

/** The state trees of a rule that keeps something for each parameter, or for some. */
export function initMoments(
  kind: string,
  params: unknown,
  start: (path: string, param: Value) => Moments,
): OptimizerState {
  const leaves = leavesOf(kind, params);
  return momentTrees(
    leaves.values.map((param, i) => start(leaves.paths[i] as string, param)),
    (column) => treeOf(leaves.shape, column),
  );
}

/** The state of a rule that keeps nothing, once the parameters have been looked at. */
export const initNothing = (kind: string, params: unknown): OptimizerState =>
  initMoments(kind, params, () => ({}));

/** Applies a rule to every parameter: the tree of updates, and the state trees of what the rule keeps. */
export function updateMoments<P>(
  kind: string,
  grads: P,
  state: OptimizerState,
  params: P,
  rule: (leaf: Leaf) => LeafUpdate,
): { readonly updates: P; readonly moments: OptimizerState } {
  const leaves = leavesOf(kind, params);
  const given = leavesLike(kind, leaves, grads, "gradients");
  const kept = readMoments(state);
  const results = leaves.values.map((param, i) => {
    const path = leaves.paths[i] as string;
    const moment = (name: string, shape: Shape = param.shape): Value => {
      const value = kept(name).get(path) ?? lost(kind, name, path);
      checkShape(kind, `the state's ${name}`, path, value, shape);
      return value;
    };
    return rule({ path, param: wide(param), grad: wide(given.values[i] as Value), moment });
  });
  return {
    updates: treeOf(
      leaves.shape,
      results.map(({ update }) => update),
    ) as P,
    moments: momentTrees(
      results.map(({ moments = {} }) => moments),
      (column) => treeOf(leaves.shape, column),
    ),
  };
}

/** Number of updates so far, this one included, as an i32 to keep and an f32 to compute with. */
export function nextCount(kind: string, state: OptimizerState): { readonly count: Value; readonly t: Value } {
  const { count } = state;
  if (!(count instanceof Value)) return lost(kind, "count");
  const next = count.add(1);
  return { count: next, t: next.astype("f32") };
}

export const zeroCount = (): Value => np.zeros([], { dtype: "i32" });

function momentTrees(
  rows: readonly Moments[],
  treeOfColumn: (column: readonly (Value | undefined)[]) => unknown,
): OptimizerState {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return Object.fromEntries(
    names.map((name) => [name, treeOfColumn(rows.map((row) => row[name])) as OptimizerState]),
  );
}

/** Looks up state trees by name and path, each taken apart once. */
function readMoments(state: OptimizerState): (name: string) => ReadonlyMap<string, Value> {
  const known = new Map<string, ReadonlyMap<string, Value>>();
  return (name) => {
    const found = known.get(name);
    if (found) return found;
    const values: unknown[] = [];
    const paths = leafPaths(flatten(state[name], values));
    const byPath = new Map(paths.map((path, i) => [path, values[i] as Value]));
    known.set(name, byPath);
    return byPath;
  };
}

/** An error about a state that is not this optimizer's. */
export function lost(kind: string, name: string, path?: string): never {
  const where = path === undefined || path === "" ? "" : ` for "${path}"`;
  throw new EspalierError("STATE_MISMATCH", `${kind}: the state holds no ${name}${where}`, {
    fix: "start with compile(optimizer.init)(params) of the same optimizer and parameters, or load a checkpoint of them",
  });
}

/** The moving average of what was and what is: `beta * old + (1 - beta) * now`. */
export const blend = (beta: Value, old: Value, now: Value): Value =>
  old.mul(beta).add(now.mul(np.subtract(1, beta)));

/**
 * 1 - beta^t: by how much a moving average that started at zero is too small. By way of expm1, because for beta near
 * 1 the difference itself would lose half of its digits in f32.
 */
export const correction = (beta: Value, t: Value): Value => np.expm1(np.log(beta).mul(t)).neg();

// Over one long axis XLA's CPU back end sums about twice as fast as over several (measured at 512 x 512).

export const sumOfSquares = (x: Value): Value => np.sum(x.ravel().square());

/** The root of the mean square. */
export const rms = (x: Value): Value => sumOfSquares(x).div(Math.max(x.size, 1)).sqrt();

export const allFinite = (x: Value): Value => np.all(np.isFinite(x.ravel()));
