import type { Value } from "../../engine/index.ts";
import type { Stateful } from "../../state/index.ts";

/**
 * The batch of losses: flat rows of experience. `valid` is 1 for rows that count and 0 for those between episodes:
 * means are taken over the former, see `meanOf`.
 */
export interface Experience {
  readonly observation: Value;
  /** Raw actions, as sampled from the policy's distribution: [rows, actions]. */
  readonly action: Value;
  /** Of these actions under the policy that took them, with its value and parameters: [rows], [rows], [rows, parameters]. */
  readonly logProb: Value;
  readonly value: Value;
  readonly parameters: Value;
  /** f32 [rows] each. `return` is the target of the value function. */
  readonly advantage: Value;
  readonly return: Value;
  readonly valid: Value;
  /** Fields that losses added during the rollout. */
  readonly [field: string]: Value;
}

/** The current policy's outputs for the rows of a batch. */
export interface PolicyOutputs {
  /** Of the distribution, masked: [rows, parameters]. */
  readonly parameters: Value;
  /** [rows] each; of the actions in the batch. */
  readonly logProb: Value;
  readonly entropy: Value;
  readonly value: Value;
}

/** Collected experience, part of the run's state. */
export interface ExperienceBuffer<Row, Batch, SampleOptions = void> extends Stateful {
  add(row: Row): void;
  /** True if there is enough to sample from. */
  readonly ready: boolean;
  sample(options: SampleOptions): Batch;
  clear(): void;
}
