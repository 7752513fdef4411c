import { EspalierError, isPlainObject, shown } from "../core/index.ts";
import { Value, type ValueLike } from "../engine/index.ts";
import { collect, type Named, stateIn } from "./chain.ts";
import { type Leaves, leavesOf, listed, treeOf } from "./leaves.ts";
import { checkOptimizer, type Optimizer, type OptimizerState, type Rates } from "./optimizer.ts";
import { badOption } from "./options.ts";
import { byPath, part, parts } from "./partition.ts";
import { matcher, noMatch } from "./paths.ts";
import { checkRates, selectRates } from "./rates.ts";

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
