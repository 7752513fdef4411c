import type { Value } from "../../engine/index.ts";
import type { Stateful } from "../../state/index.ts";

/**
 * What losses see of a batch: rows of experience, flat, whatever they were gathered in. `valid` is 1 for rows that
 * count and 0 for those between episodes: means are taken over the former, see `meanOf`.
 */
export interface Experience {
  readonly observation: Value;
  /** Raw, as the policy's distribution drew them: [rows, actions]. */
  readonly action: Value;
  /** Of these actions under the policy that took them, and that policy's value and parameters: [rows], [rows], [rows, parameters]. */
  readonly logProb: Value;
  readonly value: Value;
  readonly parameters: Value;
  /** f32 [rows] each. `return` is the value's target. */
  readonly advantage: Value;
  readonly return: Value;
  readonly valid: Value;
  /** Fields that losses added while experience was gathered. */
  readonly [field: string]: Value;
}

/** What the policy gives now for the rows of a batch. */
export interface PolicyOutputs {
  /** Of the distribution, masked: [rows, parameters]. */
  readonly parameters: Value;
  /** [rows] each; of the actions in the batch. */
  readonly logProb: Value;
  readonly entropy: Value;
  readonly value: Value;
}

/** Experience that is gathered and learned from. What is in it is part of the run's state. */
export interface ExperienceBuffer<Row, Batch, Choice = void> extends Stateful {
  add(row: Row): void;
  /** Whether there is enough to sample from. */
  readonly ready: boolean;
  sample(choice: Choice): Batch;
  clear(): void;
}
