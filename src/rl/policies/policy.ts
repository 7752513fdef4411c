import type { Tensor, Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { ApplyOptions, InitKey, InitOptions, Params } from "../../nn/index.ts";
import type { Space } from "../spaces/space.ts";
import type { PolicySpec } from "./spec.ts";

/**
 * A family of distributions over actions. Its parameters are one value [..., parameters], whatever it is: logits, or
 * means and deviations. A raw action is what is drawn and learned from; the environment gets `act` of it.
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
  /** The divergence of q from p, [...]. */
  kl(p: Value, q: Value): Value;
  /** What the environment is given for a raw action: clipped or squashed into its bounds. */
  act(action: Value): Value;
  /** Parameters under which what the mask (booleans [..., choices]) forbids is never drawn. */
  masked?(parameters: Value, mask: Value): Value;
}

/** What a policy sees of a step. */
export interface PolicyStep {
  /** f32 [rows, flat size of the observation space]. */
  readonly observation: Value;
  /** What it remembered, as `initialState` or the step before gave it. */
  readonly state: Named;
  /** Booleans [rows]: true where an episode begins with this observation. */
  readonly reset: Value;
  /** Booleans [rows, choices], where the environment has masks. */
  readonly mask?: Value | undefined;
}

/** What a policy gives. */
export interface PolicyOutput {
  /** Of its distribution: [rows, parameters], or [rows, time, parameters]. */
  readonly parameters: Value;
  /** What it expects from here on: [rows] or [rows, time]. */
  readonly value: Value;
}

/** A policy and a value function over shared or separate towers, for given spaces. */
export interface Policy {
  /** What it was made from: plain data, from which it can be made again elsewhere. */
  readonly spec: PolicySpec;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly distribution: Distribution;
  /** Whether it remembers. */
  readonly recurrent: boolean;
  /** Whether it convolves: such programs do not like loops on a CPU. */
  readonly convolves: boolean;
  init(key: InitKey, options?: InitOptions): Params<Tensor>;
  /** What it remembers before an episode, for so many rows: values with first axis rows; {} where it does not. */
  initialState(rows: number): Named;
  /** One step of all rows. */
  step(params: Params, input: PolicyStep, options?: ApplyOptions): PolicyOutput & { readonly state: Named };
  /**
   * The same over time: observation [rows, time, size], reset [rows, time], mask [rows, time, choices], state as it was
   * before the first step. Gives [rows, time, ...]. Agrees with `step` after `step` up to rounding.
   */
  unroll(params: Params, input: PolicyStep, options?: ApplyOptions): PolicyOutput;
}
