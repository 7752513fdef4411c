import { badOption, checkValue, EspalierError, isPlainObject, shown } from "../core/index.ts";
import { Value, type ValueLike } from "../engine/index.ts";
import { collect, type Named, stateIn } from "./chain.ts";
import {
  type Leaves,
  leavesLike,
  leavesOf,
  listed,
  type Mask,
  matcher,
  matchMask,
  noMatch,
  patterns,
  treeOf,
} from "./leaves.ts";
import {
  checkOptimizer,
  checkRates,
  noUpdate,
  type Optimizer,
  type OptimizerState,
  type Rates,
  selectRates,
} from "./optimizer.ts";

/**
 * An optimizer for each group of parameters. Groups are path patterns; the first that matches takes a parameter, and
 * each parameter must find one. State and rates are by pattern: `{ encoder: { learningRate }, "*": { learningRate } }`;
 * a rate given without a group goes to every group that knows it.
 *
 * @example
 * ```ts
 * const optimizer = optim.groups({ encoder: optim.adam({ learningRate: 1e-4 }), "*": optim.sgd() });
 * optimizer.update(grads, state, params, { encoder: { learningRate: 1e-5 } });
 * ```
 */
export function groups(optimizers: Readonly<Record<string, Optimizer>>): Optimizer {
  const kind = "groups";
  if (!isPlainObject(optimizers))
    throw badOption(kind, `the groups are ${shown(optimizers)}`, 'give an object: groups({ "*": adam() })');
  const patterns = Object.keys(optimizers);
  if (patterns.length === 0)
    throw badOption(kind, "there are no groups", 'give some: groups({ "*": adam() })');
  const each = Object.entries(optimizers);
  for (const [pattern, optimizer] of each) checkOptimizer(kind, `"${pattern}"`, optimizer);
  const rates = Object.fromEntries(each.map(([pattern, optimizer]) => [pattern, optimizer.rates]));
  const shared = [...new Set(each.flatMap(([, optimizer]) => Object.keys(optimizer.rates)))];
  return {
    kind,
    rates,
    init: (params) => {
      const leaves = leavesOf(kind, params);
      const taken = assign(kind, patterns, leaves);
      return collect(
        each.map(([pattern, optimizer]) => [pattern, optimizer.init(part(leaves, chosenBy(taken, pattern)))]),
      );
    },
    update: <P>(grads: P, state: OptimizerState, params: P, given: Rates<ValueLike> = {}) => {
      checkRates(kind, given, [...patterns, ...shared]);
      const leaves = leavesOf(kind, params);
      const taken = assign(kind, patterns, leaves);
      const updates = new Map<string, Value>();
      const states = each.map(([pattern, optimizer]): Named => {
        const inside = parts(kind, leaves, grads, chosenBy(taken, pattern));
        const own = ratesOf(given, patterns, pattern, optimizer);
        const next = optimizer.update(inside.grads, stateIn(state, pattern), inside.params, own);
        for (const [path, update] of byPath(kind, next.updates)) updates.set(path, update);
        return [pattern, next.state];
      });
      const all = leaves.paths.map((path) => updates.get(path));
      return { updates: treeOf(leaves.shape, all) as P, state: collect(states) };
    },
  };
}

const chosenBy = (taken: readonly string[], pattern: string): readonly boolean[] =>
  taken.map((by) => by === pattern);

/** The group of each leaf. */
function assign(kind: string, patterns: readonly string[], { paths }: Leaves): readonly string[] {
  const all = patterns.map((pattern) => ({ pattern, matches: matcher(pattern) }));
  const taken = paths.map((path) => all.find(({ matches }) => matches(path))?.pattern);
  for (const { pattern, matches } of all) {
    if (!paths.some(matches)) throw noMatch(kind, pattern, paths);
    if (!taken.includes(pattern))
      throw new EspalierError("PATH_UNKNOWN", `${kind}: groups before "${pattern}" take all it matches`, {
        fix: "put special groups before general ones",
      });
  }
  const left = paths.filter((_, i) => taken[i] === undefined);
  if (left.length > 0)
    throw new EspalierError("PATH_UNKNOWN", `${kind}: no group takes ${listed(left)}`, {
      fix: 'add a group for the rest: "*": adam(), or freeze(...) them',
    });
  return taken as string[];
}

function ratesOf(
  given: Rates<ValueLike>,
  patterns: readonly string[],
  pattern: string,
  optimizer: Optimizer,
): Rates<ValueLike> {
  const forAll = Object.entries(given).filter(([name]) => !patterns.includes(name));
  const own = given[pattern];
  if (own !== undefined && (own instanceof Value || !isPlainObject(own)))
    throw new EspalierError("RATE_INVALID", `groups: the rates of "${pattern}" are not given by name`, {
      fix: `pass { "${pattern}": { learningRate } }`,
    });
  return { ...selectRates(Object.fromEntries(forAll), optimizer.rates), ...own };
}

/**
 * Trains all parameters but some. The optimizer never sees those that are frozen: no state is kept for them, their
 * gradients count in no norm (and are not even computed), and they stay as they are, bit for bit.
 *
 * @example
 * ```ts
 * const optimizer = optim.freeze("encoder", optim.adamw({ learningRate: 1e-4 }));
 * ```
 */
export function freeze(frozen: Mask, optimizer: Optimizer): Optimizer {
  const kind = "freeze";
  checkValue(kind, "frozen", frozen, patterns);
  checkOptimizer(kind, "the optimizer", optimizer);
  const trained = (leaves: Leaves): readonly boolean[] => matchMask(kind, frozen, leaves).map((yes) => !yes);
  return {
    kind,
    rates: optimizer.rates,
    init: (params) => {
      const leaves = leavesOf(kind, params);
      return optimizer.init(part(leaves, trained(leaves)));
    },
    update: <P>(grads: P, state: OptimizerState, params: P, rates?: Rates<ValueLike>) => {
      const leaves = leavesOf(kind, params);
      const inside = parts(kind, leaves, grads, trained(leaves));
      const next = optimizer.update(inside.grads, state, inside.params, rates);
      const updates = byPath(kind, next.updates);
      const all = leaves.values.map(
        (param, i): Value => updates.get(leaves.paths[i] as string) ?? noUpdate(param),
      );
      return { updates: treeOf(leaves.shape, all) as P, state: next.state };
    },
  };
}

/** The tree of some of the leaves, at the paths they had; empty where there are none. */
export function part(leaves: Leaves, chosen: readonly boolean[]): unknown {
  return treeOf(
    leaves.shape,
    leaves.values.map((value, i) => (chosen[i] ? value : undefined)),
  );
}

/** The same part of gradients and of parameters. */
export function parts(kind: string, params: Leaves, grads: unknown, chosen: readonly boolean[]) {
  const given = leavesLike(kind, params, grads, "gradients");
  return { params: part(params, chosen), grads: part(given, chosen) };
}

/** Values of a part's leaves by path. */
export function byPath(kind: string, tree: unknown): ReadonlyMap<string, Value> {
  const leaves = leavesOf(kind, tree, "updates");
  return new Map(leaves.paths.map((path, i) => [path, leaves.values[i] as Value]));
}
