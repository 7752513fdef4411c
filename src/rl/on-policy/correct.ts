import { np, type Value } from "../../engine/index.ts";
import type { Params } from "../../nn/index.ts";
import { advantages } from "../experience/advantages.ts";
import { normalizedOver } from "../losses/common.ts";
import type { Policy } from "../policies/policy.ts";
import { forward } from "./forward.ts";
import type { Layout, Sizes } from "./layout.ts";
import type { Gathered } from "./learn.ts";
import { toSegments, toTime } from "./order.ts";

export interface CorrectSpec {
  readonly policy: Policy;
  readonly layout: Layout;
  readonly sizes: Sizes;
  readonly gamma: number;
  readonly lambda: number;
  /** Advantages over the whole rollout have mean 0 and deviation 1. */
  readonly normalizeBatch: boolean;
  readonly parallel: boolean;
  /** What ratios count at most. */
  readonly rhoBar: number;
  readonly cBar: number;
}

/** The table with advantages and returns as the policy of now has them, in V-trace form. */
export function corrected(spec: CorrectSpec, { table, memory }: Gathered, params: Params): Value {
  const { policy, layout, sizes, gamma, lambda, rhoBar, cBar, parallel } = spec;
  const { learned } = layout;
  const { segments, segment } = sizes;
  const flat = np.reshape(table, [segments * segment, learned.width]);
  const batch = { ...learned.fields(flat), memory } as never;
  const { logProb } = forward(policy, sizes)(params, batch);
  const ratio = np.exp(np.clip(logProb.sub(learned.field(flat, "logProb")), -10, 10));
  const time = (x: Value): Value => toTime(np.reshape(x, [segments, segment]), sizes);
  const field = (name: string): Value => time(learned.field(flat, name));
  const valid = field("valid");
  const found = advantages({
    ...{ rewards: field("reward"), values: field("value"), nextValues: field("nextValue") },
    ...{ terminated: field("terminated"), ends: field("ends"), valid },
    ...{ ratio: time(ratio), rhoBar, cBar, gamma, lambda, parallel },
  });
  const advantage = spec.normalizeBatch ? normalizedOver(found.advantages, valid) : found.advantages;
  const fields = {
    ...learned.fields(table),
    advantage: toSegments(advantage, sizes),
    return: toSegments(found.returns, sizes),
  };
  return learned.pack(fields);
}
