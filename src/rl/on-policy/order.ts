import { treeMap } from "../../core/index.ts";
import { np, random, type Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { Ramp } from "../../schedule/index.ts";
import { prioritizedSegments } from "../experience/prioritized-segments.ts";
import type { Layout, Sizes } from "./layout.ts";
import type { Gathered } from "./learn.ts";

/** Experience in the order in which an update epoch goes through it. */
export type Order = (
  gathered: Gathered,
  key: Value,
  rollout: Value,
  epoch: Value,
  ramp: Readonly<Record<string, Value>>,
) => { readonly table: Value; readonly memory: Named };

export interface OrderSpec {
  readonly layout: Layout;
  readonly sizes: Sizes;
  /** Segments with large advantages come more often; otherwise each comes once. */
  readonly priority: { readonly alpha: number; readonly beta: number | Ramp } | undefined;
}

/** The ramp of how far drawing by priority is made up for. */
export const betaRamp = "priority.beta";

/** Every segment once in random order, or drawn by how much there is to learn from it. */
export function orderOf(spec: OrderSpec): Order {
  const { sizes, priority, layout } = spec;
  return (gathered, key, rollout, epoch, ramp) => {
    const own = random.foldIn(random.foldIn(key, rollout), epoch);
    const { table } = gathered;
    const pick = (indices: Value, from: Value) => ({
      table: np.take(from, indices, { axis: 0 }),
      memory: treeMap((x: Value) => np.take(x, indices, { axis: 0 }), gathered.memory),
    });
    if (!priority) return pick(random.permutation(own, sizes.segments).astype("i32"), table);
    const weights = np.sum(np.absolute(layout.learned.field(table, "advantage")), { axis: 1 });
    const { indices, importance } = prioritizedSegments(weights, own, {
      alpha: priority.alpha,
      beta: typeof priority.beta === "number" ? priority.beta : (ramp[betaRamp] as Value),
      count: sizes.batch * sizes.minibatches,
    });
    const picked = pick(indices, table);
    const column = layout.learned.at("importance");
    const rows = np.broadcastTo(np.reshape(importance, [-1, 1, 1]), [...picked.table.shape.slice(0, 2), 1]);
    const before = np.slice(picked.table, "...", [0, column]);
    const after = np.slice(picked.table, "...", [column + 1, layout.learned.width]);
    return { ...picked, table: np.concatenate([before, rows, after], { axis: 2 }) };
  };
}

/**
 * [steps, rows, ...] as [segments, segment, ...]: the first steps of all rows, then those after them.
 */
export function toSegments(x: Value, { steps, rows, segment, segments }: Sizes): Value {
  const rest = x.shape.slice(2);
  if (segment === 1) return np.reshape(x, [segments, 1, ...rest]);
  const chunks = np.reshape(x, [steps / segment, segment, rows, ...rest]);
  return np.reshape(np.swapaxes(chunks, 1, 2), [segments, segment, ...rest]);
}

/** The way back. */
export function toTime(x: Value, { steps, rows, segment }: Sizes): Value {
  const rest = x.shape.slice(2);
  if (segment === 1) return np.reshape(x, [steps, rows, ...rest]);
  const chunks = np.reshape(x, [steps / segment, rows, segment, ...rest]);
  return np.reshape(np.swapaxes(chunks, 1, 2), [steps, rows, ...rest]);
}
