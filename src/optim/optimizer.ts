import { badOption, didYouMean, EspalierError, isPlainObject, shown } from "../core/index.ts";
import { np, type Tensor, Value, type ValueLike } from "../engine/index.ts";
import { leavesLike, leavesOf, listed, treeOf, wide } from "./leaves.ts";

/**
 * What an optimizer remembers: plain nested objects such as `{ count, m: { dense0: { w, b } }, v: { ... } }`, built like
 * the parameters. Of values while tracing, of tensors outside.
 */
export type OptimizerState<T = Value> = { readonly [name: string]: T | OptimizerState<T> };

/** Rates by name. They are inputs of the compiled step, so that changing one never compiles anew. */
export type Rates<T = Value> = { readonly [name: string]: T | Rates<T> };

/** Result of one update: what to add to the parameters, and the next state. */
export interface Update<P> {
  readonly updates: P;
  readonly state: OptimizerState;
}

/**
 * An optimizer, or a part of one: two pure functions over trees of values, for use inside `compile`.
 *
 * @example
 * ```ts
 * const optimizer = optim.adamw({ learningRate: 1e-3 });
 * const step = compile((params: Params, state: optim.OptimizerState, rates: optim.Rates, x: Value, y: Value) => {
 *   const [loss, grads] = valueAndGrad(lossOf)(params, x, y);
 *   const next = optimizer.update(grads, state, params, rates);
 *   return { loss, params: optim.applyUpdates(params, next.updates), state: next.state };
 * });
 * let state = compile(optimizer.init)(params);
 * ({ params, state } = step(params, state, { learningRate: 3e-4 }, x, y));
 * ```
 */
export interface Optimizer {
  /** Name for errors and for its part of a chain's state: `adam`. */
  readonly kind: string;
  /** Its rates, with the values they have by default; `update` may be given others. */
  readonly rates: Rates<number>;
  /** The state before the first update. */
  init(params: unknown): OptimizerState;
  /** `grads` is a tree like `params`; rates left out have their defaults. */
  update<P>(grads: NoInfer<P>, state: OptimizerState, params: P, rates?: Rates<ValueLike>): Update<P>;
}

/** Refuses what is no optimizer. */
export function checkOptimizer(kind: string, name: string, given: unknown): void {
  const { rates, init, update } = (given ?? {}) as Partial<Optimizer>;
  if (typeof rates === "object" && rates && typeof init === "function" && typeof update === "function")
    return;
  const call = typeof given === "function" && given.name !== "" ? `call it: ${given.name}()` : undefined;
  throw badOption(
    kind,
    `${name} is ${shown(given)}`,
    call ?? "give an optimizer or a transform, such as adam()",
  );
}

/** The defaults of an optimizer's rates; those that are undefined it does not have. */
export type RateDefaults = Readonly<Record<string, number | undefined>>;

/** Each rate an optimizer has as a scalar. */
export type RateValues<D extends RateDefaults> = {
  readonly [K in keyof D]: undefined extends D[K] ? Value | undefined : Value;
};

/** The rates an optimizer has, for its `rates`. */
export function listRates(defaults: RateDefaults): Rates<number> {
  const given = Object.entries(defaults).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Rates<number>;
}

/** The rates of one update as f32 scalars: those given, and defaults for the others. */
export function readRates<D extends RateDefaults>(
  kind: string,
  defaults: D,
  given: Rates<ValueLike> = {},
): RateValues<D> {
  const known = Object.keys(listRates(defaults));
  checkRates(kind, given, known);
  return Object.fromEntries(
    known.map((name) => [name, scalar(kind, name, given[name] ?? (defaults[name] as number))]),
  ) as RateValues<D>;
}

/** Refuses rates that nobody knows. */
export function checkRates(kind: string, given: Rates<ValueLike>, known: readonly string[]): void {
  for (const name of Object.keys(given))
    if (!known.includes(name))
      throw new EspalierError(
        "RATE_UNKNOWN",
        `${kind}: there is no rate "${name}"${didYouMean(name, known)}`,
        {
          fix: known.length === 0 ? `${kind} has no rates` : `the rates of ${kind} are ${known.join(", ")}`,
        },
      );
}

/** Those of the rates given that are among others. */
export function selectRates(given: Rates<ValueLike>, among: Rates<number>): Rates<ValueLike> {
  return Object.fromEntries(Object.entries(given).filter(([name]) => name in among));
}

function scalar(kind: string, name: string, given: ValueLike | Rates<ValueLike>): Value {
  const value = typeof given === "number" ? np.full([], given) : given;
  if (!(value instanceof Value) || value.ndim !== 0)
    throw new EspalierError(
      "RATE_INVALID",
      `${kind}: the rate ${name} is ${value instanceof Value ? value.type.text : typeof given}, which is not one number`,
      { fix: `pass a scalar: step(params, state, { ${name}: 0.001 }, ...)` },
    );
  return value.astype("f32");
}

/**
 * The next parameters: each plus its update, in its own element type.
 *
 * @example
 * ```ts
 * const { updates, state: next } = optimizer.update(grads, state, params, rates);
 * return { params: optim.applyUpdates(params, updates), state: next };
 * ```
 */
export function applyUpdates<P>(params: P, updates: NoInfer<P>): P {
  const leaves = leavesOf("applyUpdates", params);
  const given = leavesLike("applyUpdates", leaves, updates, "updates");
  const next = leaves.values.map((param, i) => {
    const update = given.values[i] as Value;
    if (nothing.has(update)) return param;
    const sum = wide(param).add(update);
    return sum.dtype === param.dtype ? sum : sum.astype(param.dtype);
  });
  return treeOf(leaves.shape, next) as P;
}

const nothing = new WeakSet<Value>();

/** An update that leaves a parameter as it is: -0, because 0 added to -0 would give 0. */
export function noUpdate(param: Value): Value {
  const update = np.full(param.shape, -0);
  nothing.add(update);
  return update;
}

/** Values of a state that is traced, tensors of one that is not. */
type StateValue<S extends OptimizerState<Value | Tensor>> = Extract<S[string], Value | Tensor>;

/**
 * One value of an optimizer's state by name, wherever it is: `norm`, or `clipByGlobalNorm.norm` where there are two.
 *
 * @example
 * ```ts
 * const norm = await optim.valueIn(state, "norm").item();
 * ```
 */
export function valueIn<S extends OptimizerState<Value | Tensor>>(state: S, name: string): StateValue<S> {
  const part = partIn(state, name, "valueIn");
  if (isBranch(part))
    throw new EspalierError("STATE_MISMATCH", `valueIn: "${name}" is a tree, not one value`, {
      fix: `take it with treeIn(state, "${name}")`,
    });
  return part as StateValue<S>;
}

/** As {@link valueIn}, but undefined where there is no such value, or more than one. */
export function findValue<T>(state: OptimizerState<T>, name: string): T | undefined {
  const { found } = search(state, name);
  return found.length === 1 && !isBranch(found[0]?.part) ? (found[0]?.part as T) : undefined;
}

/**
 * A tree of an optimizer's state by name, wherever it is: `average`, or `ema.average`.
 *
 * @example
 * ```ts
 * const smooth = optim.treeIn(state, "average");
 * ```
 */
export function treeIn<S extends OptimizerState<Value | Tensor>>(
  state: S,
  name: string,
): Exclude<S[string], Value | Tensor> {
  const part = partIn(state, name, "treeIn");
  if (!isBranch(part))
    throw new EspalierError("STATE_MISMATCH", `treeIn: "${name}" is one value, not a tree`, {
      fix: `take it with valueIn(state, "${name}")`,
    });
  return part as Exclude<S[string], Value | Tensor>;
}

const isBranch = (part: unknown): boolean => Array.isArray(part) || isPlainObject(part);

/** The one part of this name; refuses names that are not there or stand for several. */
function partIn(state: object, name: string, what: string): unknown {
  if (!isPlainObject(state) || typeof name !== "string")
    throw new EspalierError("ARGUMENT_INVALID", `${what}: it was given ${shown(state)} and ${shown(name)}`, {
      fix: `give an optimizer's state and a name: ${what}(state, "${what === "treeIn" ? "average" : "norm"}")`,
    });
  const { found, seen } = search(state, name);
  if (found.length > 1)
    throw new EspalierError("PATH_UNKNOWN", `${what}: "${name}" is in the state more than once`, {
      fix: `say which: ${listed(found.map(({ path }) => path))}`,
    });
  if (found[0]) return found[0].part;
  const names = new Set(seen.flatMap((path) => [path, path.split(".").at(-1) as string]));
  throw new EspalierError("PATH_UNKNOWN", `${what}: the state has no "${name}"${didYouMean(name, names)}`, {
    fix: `it has ${listed(seen)}`,
  });
}

interface Part {
  readonly path: string;
  readonly part: unknown;
}

/** The parts whose path is or ends with a name, of those nearest to the top; and all paths that were looked at. */
function search(
  state: object,
  name: string,
): { readonly found: readonly Part[]; readonly seen: readonly string[] } {
  const seen: string[] = [];
  let level: readonly Part[] = [{ path: "", part: state }];
  while (level.length > 0) {
    const below = level.flatMap(({ path, part }) =>
      isPlainObject(part)
        ? Object.entries(part).map(([key, value]) => ({
            path: path === "" ? key : `${path}.${key}`,
            part: value,
          }))
        : [],
    );
    const found = below.filter(({ path }) => path === name || path.endsWith(`.${name}`));
    if (found.length > 0) return { found, seen };
    seen.push(...below.map(({ path }) => path));
    level = below;
  }
  return { found: [], seen };
}
