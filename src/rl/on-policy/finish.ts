import { treeMap } from "../../core/index.ts";
import { np, type Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import { advantages } from "../experience/advantages.ts";
import { normalizedOver } from "../losses/common.ts";
import type { Hindsight } from "./hindsight.ts";
import type { Layout, Sizes } from "./layout.ts";
import type { Gathered } from "./learn.ts";
import { toSegments } from "./order.ts";
import type { Running, Sides } from "./sides.ts";

export interface FinishSpec {
  readonly sizes: Sizes;
  readonly layout: Layout;
  readonly sides: Sides;
  readonly gamma: number;
  readonly lambda: number;
  /** Advantages over the whole rollout have mean 0 and deviation 1. */
  readonly normalizeBatch: boolean;
  /** By one loop over time, or by halving: as the engine likes it. */
  readonly parallel: boolean;
}

/**
 * A rollout that is over: rewards as they are learned from, advantages, and everything in segments. `rows` is
 * [steps, rows, columns], `memory` what the policy remembered before each segment, [steps / segment, rows, ...].
 */
export function finish(
  spec: FinishSpec,
  rows: Value,
  { logProb, values }: Hindsight,
  memory: Named,
  running: Running,
): readonly [Gathered, Running] {
  const { sizes, layout, sides, gamma, lambda } = spec;
  const { gathered, learned } = layout;
  const fields = gathered.fields(rows);
  const field = (name: string): Value => fields[name] as Value;
  const valid = field("valid");
  const ends = np.maximum(field("terminated"), field("truncated"));
  const { reward, running: next } = sides.after(running, {
    observation: field("observation"),
    reward: field("reward"),
    ends,
    valid,
  });
  const found = advantages({
    ...{ rewards: reward, values, terminated: field("terminated"), ends, valid },
    ...{ gamma, lambda, parallel: spec.parallel },
  });
  const advantage = spec.normalizeBatch ? normalizedOver(found.advantages, valid) : found.advantages;
  const value = np.slice(values, [0, sizes.steps]);
  const nextValue = np.slice(values, [1, sizes.steps + 1]);
  const all: Record<string, Value> = {
    ...fields,
    ...{ observation: sides.seen(running, field("observation")), reward, ends },
    ...{ logProb, value, nextValue, advantage, return: found.returns, importance: valid },
  };
  const table = toSegments(learned.pack(all), sizes);
  const flat = treeMap((x: Value) => np.reshape(x, [sizes.segments, ...x.shape.slice(2)]), memory);
  return [{ table, memory: flat }, next];
}
