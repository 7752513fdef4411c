import { badOption, checkNames, flatten, leafPaths, shown, treeMap } from "../core/index.ts";
import { np, type Value, type ValueLike } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import { globalNorm, type Optimizer, type Rates } from "../optim/index.ts";

/**
 * What is reported of every update beside its losses and metrics. What is off is not in the program at all; what is on
 * changes no bit of the training.
 *
 * @example
 * ```ts
 * supervisedTask({ ...options, monitor: { gradients: "layers", parameters: true, updates: true } });
 * ```
 */
export interface MonitorOptions {
  /**
   * True for `gradientNorm`, the norm of all gradients before clipping, and, where the optimizer clips, `clippedNorm`,
   * the one after it. `"layers"` for `gradientNorm/<path>` too: parameters that lie in one branch are a layer. What is
   * frozen does not count. Unless told, `gradientNorm` alone, where the optimizer clips by it and so knows it anyway.
   */
  readonly gradients?: boolean | "layers";
  /** `parameterNorm`: of all parameters after the update. Default false. */
  readonly parameters?: boolean;
  /** `updateNorm`: of what the update added to them. Default false. */
  readonly updates?: boolean;
}

/** Refuses what cannot be meant. */
export function checkMonitor(kind: string, monitor: MonitorOptions): void {
  const name = `${kind}: monitor`;
  if (typeof monitor !== "object" || monitor === null)
    throw badOption(name, `it is ${shown(monitor)}`, "give { gradients: true }, or leave it out");
  checkNames(name, monitor, ["gradients", "parameters", "updates"]);
  for (const [option, value] of Object.entries(monitor))
    if (value !== undefined && typeof value !== "boolean" && (option !== "gradients" || value !== "layers"))
      throw badOption(
        name,
        `${option} is ${shown(value)}`,
        option === "gradients" ? 'give true, false or "layers"' : "give true or false",
      );
}

/** An update as its statistics see it. */
export interface UpdateParts {
  readonly optimizer: Optimizer;
  readonly rates: Rates;
  readonly grads: Params;
  readonly before: Params;
  readonly after: Params;
  readonly updates: Params;
}

/** What was asked for, as values of one update. */
export function statistics(monitor: MonitorOptions, parts: UpdateParts): Readonly<Record<string, Value>> {
  const { gradients, parameters, updates } = monitor;
  return {
    ...(gradients && gradientNorms(parts, gradients === "layers")),
    ...(parameters && { parameterNorm: globalNorm(parts.after) }),
    ...(updates && { updateNorm: globalNorm(parts.updates) }),
  };
}

function gradientNorms(parts: UpdateParts, layers: boolean): Readonly<Record<string, Value>> {
  const trained = trainedGradients(parts);
  const norm = globalNorm([...trained.values()]);
  const clipped = clippedNorm(parts, trained, norm);
  const byLayer = new Map<string, Value[]>();
  if (layers)
    for (const [path, grad] of trained) {
      const layer = path.replace(/(\.[^.[\]]*|\[[^\]]*\])$/, "") || path;
      byLayer.set(layer, [...(byLayer.get(layer) ?? []), grad]);
    }
  const named = [...byLayer].map(([layer, grads]) => [`gradientNorm/${layer}`, globalNorm(grads)]);
  return { gradientNorm: norm, ...(clipped && { clippedNorm: clipped }), ...Object.fromEntries(named) };
}

/** Gradients by path, but for parameters that the update leaves as they are: nobody else computes theirs. */
function trainedGradients({ grads, before, after }: UpdateParts): ReadonlyMap<string, Value> {
  const values: Value[] = [];
  const paths = leafPaths(flatten(grads, values));
  const [old, next] = [leaves(before), leaves(after)];
  const all = paths.map((path, i) => [path, values[i] as Value] as const);
  return new Map(all.filter((_, i) => old[i] !== next[i]));
}

function leaves(tree: Params): readonly unknown[] {
  const found: unknown[] = [];
  flatten(tree, found);
  return found;
}

/** The norm of what is left of the gradients when the optimizer has clipped them; undefined where it does not clip. */
function clippedNorm(
  { optimizer, rates }: UpdateParts,
  grads: ReadonlyMap<string, Value>,
  norm: Value,
): Value | undefined {
  const rate = (name: string): ValueLike | undefined => {
    const own = optimizer.rates[name];
    return typeof own === "number" ? ((rates[name] as Value | undefined) ?? own) : undefined;
  };
  const [maxNorm, maxAbs] = [rate("maxNorm"), rate("maxAbs")];
  if (maxNorm !== undefined && maxAbs === undefined)
    // As clipByGlobalNorm has it: what is not finite stays so.
    return norm.mul(np.where(norm.less(maxNorm), 1, np.divide(maxNorm, norm)));
  if (maxAbs === undefined || maxNorm !== undefined) return undefined;
  const least = np.negative(maxAbs);
  return globalNorm(treeMap((grad: Value) => grad.astype("f32").clip(least, maxAbs), [...grads.values()]));
}
