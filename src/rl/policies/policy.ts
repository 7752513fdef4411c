import { EspalierError } from "../../core/index.ts";
import { np, type Tensor, type Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { ApplyOptions, InitKey, InitOptions, Params } from "../../nn/index.ts";
import type { Space } from "../spaces/space.ts";
import type { PolicySpec } from "./spec.ts";

/**
 * A family of distributions over actions. Its parameters are one value [..., parameters]: logits, or means and
 * deviations. A raw action is what is sampled and learned from; the environment receives `act(raw)`.
 */
export interface Distribution {
  readonly kind: string;
  /** Numbers in a row of parameters, and in a row of actions (raw and acted). */
  readonly parameters: number;
  readonly actions: number;
  /** Raw actions, f32 [..., actions]. One key for all rows. */
  sample(parameters: Value, key: Value): Value;
  /** The most likely raw action. */
  mode(parameters: Value): Value;
  /** [...] */
  logProb(parameters: Value, action: Value): Value;
  /** [...]; where there is no closed form, an estimate that says so in its documentation. */
  entropy(parameters: Value): Value;
  /** The Kullback-Leibler divergence of q from p, [...]. */
  kl(p: Value, q: Value): Value;
  /** The environment's action for a raw action: clipped or squashed into its bounds. */
  act(action: Value): Value;
  /** Parameters under which choices that the mask (booleans [..., choices]) forbids are never sampled. */
  masked?(parameters: Value, mask: Value): Value;
}

/** The input of one policy step. */
export interface PolicyStep {
  /** f32 [rows, flat size of the observation space]. */
  readonly observation: Value;
  /** The recurrent state, from `initialState` or the step before. */
  readonly state: Named;
  /** Booleans [rows]: true where an episode begins with this observation. */
  readonly reset: Value;
  /** Booleans [rows, choices], where the environment has action masks. */
  readonly mask?: Value | undefined;
}

/** The output of a policy. */
export interface PolicyOutput {
  /** Of its distribution: [rows, parameters], or [rows, time, parameters]. */
  readonly parameters: Value;
  /** The value estimate: [rows] or [rows, time]. */
  readonly value: Value;
}

/** The spaces of an environment. */
export interface PolicySpaces {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
}

/** A policy and a value function over shared or separate towers, for given spaces. */
export interface Policy extends PolicySpaces {
  /** Plain data from which the same policy can be built elsewhere. */
  readonly spec: PolicySpec;
  readonly distribution: Distribution;
  /** True if it has a memory. */
  readonly recurrent: boolean;
  /** True if it has convolutions, which XLA's CPU back end runs slowly inside loops. */
  readonly convolves: boolean;
  init(key: InitKey, options?: InitOptions): Params<Tensor>;
  /** The recurrent state before an episode: values with first axis rows; {} without memory. */
  initialState(rows: number): Named;
  /** One step of all rows. */
  step(params: Params, input: PolicyStep, options?: ApplyOptions): PolicyOutput & { readonly state: Named };
  /**
   * Steps over time: observation [rows, time, size], reset [rows, time], mask [rows, time, choices], state as it was
   * before the first step. Returns [rows, time, ...]. Agrees with repeated `step` up to rounding.
   */
  unroll(params: Params, input: PolicyStep, options?: ApplyOptions): PolicyOutput;
}

/** Refuses a recurrent policy where rows of a batch are in no order of time. */
export function checkNotRecurrent(kind: string, what: string, policy: Policy): void {
  if (policy.recurrent)
    throw new EspalierError(
      "POLICY_RECURRENT",
      `${kind}: ${what} remembers (${policy.spec.memory?.kind ?? "memory"}), and rows of a batch have no past`,
      { fix: `give ${what} without memory` },
    );
}

/** The output of a policy without memory for rows of observations. */
export function applyPolicy(policy: Policy, params: Params, observation: Value, mask?: Value): PolicyOutput {
  const [rows = 0] = observation.shape;
  return policy.step(params, {
    observation,
    state: {},
    reset: np.zeros([rows], { dtype: "bool" }),
    ...(mask && { mask }),
  });
}
