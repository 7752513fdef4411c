import { didYouMean, EspalierError, isPlainObject, shown } from "../core/index.ts";
import type { Tensor, Value } from "../engine/index.ts";
import { listed } from "./leaves.ts";
import type { OptimizerState } from "./optimizer.ts";

/** Values of a state that is traced, tensors of one that is not. */
type Leaf<S extends OptimizerState<Value | Tensor>> = Extract<S[string], Value | Tensor>;

/**
 * One value of an optimizer's state by name, wherever it is: `norm`, or `clipByGlobalNorm.norm` where there are two.
 *
 * @example
 * ```ts
 * const norm = await optim.valueIn(state, "norm").item();
 * ```
 */
export function valueIn<S extends OptimizerState<Value | Tensor>>(state: S, name: string): Leaf<S> {
  const part = partIn(state, name, "valueIn");
  if (isBranch(part))
    throw new EspalierError("STATE_MISMATCH", `valueIn: "${name}" is a tree, not one value`, {
      fix: `take it with treeIn(state, "${name}")`,
    });
  return part as Leaf<S>;
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

/** The part whose path is or ends with a name. What lies nearest to the top counts, if it is alone there. */
function partIn(state: object, name: string, what: string): unknown {
  if (!isPlainObject(state) || typeof name !== "string")
    throw new EspalierError("ARGUMENT_INVALID", `${what}: it was given ${shown(state)} and ${shown(name)}`, {
      fix: `give an optimizer's state and a name: ${what}(state, "${what === "treeIn" ? "average" : "norm"}")`,
    });
  const seen: string[] = [];
  let level: readonly { readonly path: string; readonly part: unknown }[] = [{ path: "", part: state }];
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
    if (found.length > 1)
      throw new EspalierError("PATH_UNKNOWN", `${what}: "${name}" is in the state more than once`, {
        fix: `say which: ${listed(found.map(({ path }) => path))}`,
      });
    if (found[0]) return found[0].part;
    seen.push(...below.map(({ path }) => path));
    level = below;
  }
  const names = new Set(seen.flatMap((path) => [path, path.split(".").at(-1) as string]));
  throw new EspalierError("PATH_UNKNOWN", `${what}: the state has no "${name}"${didYouMean(name, names)}`, {
    fix: `it has ${listed(seen)}`,
  });
}
