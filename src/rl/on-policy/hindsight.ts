import { np, type Value } from "../../engine/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Policy } from "../policies/policy.ts";
import type { Layout } from "./layout.ts";
import type { Running, Sides } from "./sides.ts";

/** What the policy thought of a rollout: nobody needs it before the rollout is over. */
export interface Hindsight {
  /** Of the actions that were taken, [steps, rows]. */
  readonly logProb: Value;
  /** What it expected at each step and after the last, [steps + 1, rows]. */
  readonly values: Value;
}

/** How a rollout ended: what rows see after it, [rows, size]; what a policy that remembers expects then, [rows]. */
export interface RolloutEnd {
  readonly observation: Value;
  readonly value?: Value | undefined;
}

export interface HindsightSpec {
  readonly policy: Policy;
  readonly layout: Layout;
  readonly sides: Sides;
}

/**
 * Found for all steps at once, which is faster than step by step; only values of a policy that remembers come from the
 * steps themselves. `rows` is [steps, rows, columns].
 */
export function inHindsight(
  { policy, layout, sides }: HindsightSpec,
  params: Params,
  running: Running,
  rows: Value,
  end: RolloutEnd,
): Hindsight {
  const field = (name: string): Value => layout.gathered.field(rows, name);
  const behind = (each: Value, last: Value): Value =>
    np.concatenate([each, np.expandDims(last, 0)], { axis: 0 });
  const logProb = policy.distribution.logProb(field("parameters"), field("action"));
  if (end.value) return { logProb, values: behind(field("value"), end.value) };
  const observation = behind(field("observation"), end.observation);
  const [steps, count, size] = observation.shape as [number, number, number];
  const { value } = policy.step(params, {
    observation: np.reshape(sides.seen(running, observation), [steps * count, size]),
    state: {},
    reset: np.zeros([steps * count], { dtype: "bool" }),
  });
  return { logProb, values: np.reshape(value, [steps, count]) };
}
