import { np, type Value, type ValueLike } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import type { Policy } from "../policies/policy.ts";
import type { PolicyObjective } from "./layout.ts";

/** What rows see before they act. */
export interface Seen {
  readonly params: Params;
  /** f32 [rows, size], as the policy takes them: normalised where that is done. */
  readonly observation: Value;
  readonly memory: Named;
  /** Booleans [rows]. */
  readonly reset: Value;
  readonly mask?: Value | undefined;
  readonly key: Value;
  readonly weights: Readonly<Record<string, ValueLike>>;
}

/** What they do. */
export interface Acted {
  /** For the environments. */
  readonly actions: Value;
  readonly memory: Named;
  /** action, parameters, value, and what losses add. */
  readonly fields: Readonly<Record<string, Value>>;
}

export interface ActSpec {
  readonly policy: Policy;
  readonly objective: PolicyObjective;
  /** Losses that take part in gathering. */
  readonly losses: readonly string[];
  /** Fields that all losses add; those of losses that do not take part are 0. */
  readonly added: Readonly<Record<string, readonly number[]>>;
}

/** One step of the policy for all rows, inside a program. */
export function act({ policy, objective, losses, added }: ActSpec, seen: Seen): Acted {
  const { params, observation, memory, reset, mask, key, weights } = seen;
  const { distribution } = policy;
  const given = policy.step(params, { observation, state: memory, reset, ...(mask && { mask }) });
  const { parameters, value } = given;
  const action = distribution.sample(parameters, key);
  const fields = { action, parameters, value };
  const outputs: PolicyOutputs = {
    ...{ parameters, value, logProb: distribution.logProb(parameters, action) },
    entropy: distribution.entropy(parameters),
  };
  const batch = { observation, action, ...(mask && { mask }) } as unknown as Experience;
  const extra = objective.rollout(losses, { params, batch, outputs, weights, key });
  const none = (shape: readonly number[]): Value => np.zeros([observation.shape[0] as number, ...shape]);
  const all = Object.entries(added).map(([name, shape]) => [name, extra[name] ?? none(shape)]);
  return {
    actions: distribution.act(action),
    memory: given.state,
    fields: { ...fields, ...Object.fromEntries(all) },
  };
}
