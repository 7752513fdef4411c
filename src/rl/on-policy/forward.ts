import { np, type Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { ApplyOptions, Params } from "../../nn/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import type { Policy } from "../policies/policy.ts";

/** What the policy gives now for rows of experience, which stand in segments one after the other. */
export function forward(policy: Policy, { segment }: { readonly segment: number }) {
  const { distribution } = policy;
  return (params: Params, batch: Experience, options: ApplyOptions = {}): PolicyOutputs => {
    const { parameters, value } = policy.recurrent
      ? overTime(policy, segment, params, batch, options)
      : policy.step(params, seenIn(batch), options);
    return {
      parameters,
      value,
      logProb: distribution.logProb(parameters, batch.action),
      entropy: distribution.entropy(parameters),
    };
  };
}

const masked = (mask: Value | undefined) => (mask ? { mask: np.notEqual(mask, 0) } : {});

const seenIn = (batch: Experience) => ({
  observation: batch.observation,
  state: {},
  reset: np.notEqual(batch.reset as Value, 0),
  ...masked(batch.mask),
});

function overTime(policy: Policy, segment: number, params: Params, batch: Experience, options: ApplyOptions) {
  const inTime = (x: Value): Value => np.reshape(x, [-1, segment, ...x.shape.slice(1)]);
  const flat = (x: Value): Value => np.reshape(x, [-1, ...x.shape.slice(2)]);
  const { observation, reset, mask } = seenIn(batch) as { observation: Value; reset: Value; mask?: Value };
  const { parameters, value } = policy.unroll(
    params,
    {
      observation: inTime(observation),
      state: batch.memory as unknown as Named,
      reset: inTime(reset),
      ...(mask && { mask: inTime(mask) }),
    },
    options,
  );
  return { parameters: flat(parameters), value: flat(value) };
}
