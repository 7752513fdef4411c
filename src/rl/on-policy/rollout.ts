import { EspalierError, treeMap } from "../../core/index.ts";
import { np, type Tensor, type Value, type ValueLike } from "../../engine/index.ts";
import { TensorState, type TensorStateOptions } from "../../learner/index.ts";
import type { Named } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { StateTree } from "../../state/index.ts";
import { type AdvantageInputs, advantages } from "../experience/advantages.ts";
import type { PolicyOutputs } from "../experience/experience.ts";
import { normalizedOver } from "../losses/loss.ts";
import { experienceOf } from "./layout.ts";
import type { Statistics } from "./normalize.ts";
import type { RolloutSizes } from "./options.ts";
import type { OnPolicySetup } from "./setup.ts";

/**
 * The steps of a rollout, inside programs, for compiled environments and for those on the host alike:
 *
 *     each step:   act              observation -> action, distribution parameters
 *     at the end:  evaluateRollout  log-probabilities and values of all steps at once
 *                  finishRollout    rewards transformed, advantages, cut into segments
 */

/** A rollout to learn from, segment by segment. */
export type Rollout = {
  /** [segments, segment, columns]. */
  readonly table: Value;
  /** The recurrent state before each segment: values with first axis segments. */
  readonly memory: Named;
};

/** The input of {@link act}. */
export interface ActInputs {
  readonly params: Params;
  /** f32 [rows, size], normalized. */
  readonly observation: Value;
  readonly memory: Named;
  /** Booleans [rows]. */
  readonly reset: Value;
  readonly mask?: Value | undefined;
  readonly key: Value;
  /** Values of the objective's ramps. */
  readonly weights: Readonly<Record<string, ValueLike>>;
}

/** One step of the policy for all rows. `losses` are those active during rollouts. */
export function act(
  { policy, objective, layout }: OnPolicySetup,
  losses: readonly string[],
  inputs: ActInputs,
) {
  const { params, observation, memory, reset, mask, key, weights } = inputs;
  const { distribution } = policy;
  const given = policy.step(params, { observation, state: memory, reset, ...(mask && { mask }) });
  const { parameters, value } = given;
  const action = distribution.sample(parameters, key);
  const outputs: PolicyOutputs = {
    parameters,
    value,
    logProb: distribution.logProb(parameters, action),
    entropy: distribution.entropy(parameters),
  };
  const batch = experienceOf({ observation, action, ...(mask && { mask }) });
  const added = objective.rollout(losses, { params, batch, outputs, weights, key });
  // Fields of losses that are not active are 0.
  const zeros = (shape: readonly number[]): Value => np.zeros([observation.shape[0] as number, ...shape]);
  const all = Object.entries(layout.added).map(([name, shape]) => [name, added[name] ?? zeros(shape)]);
  const fields: Readonly<Record<string, Value>> = { action, parameters, value, ...Object.fromEntries(all) };
  return { actions: distribution.act(action), memory: given.state, fields };
}

/** The collected rows of a rollout, and its end. */
export interface RolloutEnd {
  readonly params: Params;
  readonly stats: Statistics;
  /** [steps, rows, columns]. */
  readonly rows: Value;
  /** The observation after the last step, [rows, size]. */
  readonly observation: Value;
  /** The value of that observation, [rows], for recurrent policies. */
  readonly value?: Value | undefined;
}

/** Log-probabilities and values of a finished rollout. */
export interface EvaluatedRollout {
  /** Of the actions taken, [steps, rows]. */
  readonly logProb: Value;
  /** Before each step and after the last, [steps + 1, rows]. */
  readonly values: Value;
}

/**
 * Evaluates all steps at once, which is faster than step by step; only values of a recurrent policy come from the steps
 * themselves.
 */
export function evaluateRollout(
  { policy, layout, transforms }: OnPolicySetup,
  { params, stats, rows, ...end }: RolloutEnd,
): EvaluatedRollout {
  const field = (name: string): Value => layout.collected.field(rows, name);
  const append = (each: Value, last: Value): Value =>
    np.concatenate([each, np.expandDims(last, 0)], { axis: 0 });
  const logProb = policy.distribution.logProb(field("parameters"), field("action"));
  if (end.value) return { logProb, values: append(field("value"), end.value) };
  const observation = append(field("observation"), end.observation);
  const [steps, count, size] = observation.shape as [number, number, number];
  const { value } = policy.step(params, {
    observation: np.reshape(transforms.observation(stats, observation), [steps * count, size]),
    state: {},
    reset: np.zeros([steps * count], { dtype: "bool" }),
  });
  return { logProb, values: np.reshape(value, [steps, count]) };
}

/**
 * Finishes a rollout: transforms rewards, computes advantages and cuts everything into segments. `rows` is [steps, rows,
 * columns], `memory` the recurrent state before each segment, [steps / segment, rows, ...].
 */
export function finishRollout(
  setup: OnPolicySetup,
  {
    rows,
    evaluated,
    memory,
    stats,
  }: {
    readonly rows: Value;
    readonly evaluated: EvaluatedRollout;
    readonly memory: Named;
    readonly stats: Statistics;
  },
): { readonly rollout: Rollout; readonly stats: Statistics } {
  const { sizes, layout, transforms, gae } = setup;
  const { logProb, values } = evaluated;
  const fields = layout.collected.fields(rows);
  const field = (name: string): Value => fields[name] as Value;
  const valid = field("valid");
  const ends = np.maximum(field("terminated"), field("truncated"));
  const { reward, stats: next } = transforms.afterRollout(stats, {
    observation: field("observation"),
    reward: field("reward"),
    ends,
    valid,
  });
  const { advantage, returns } = estimate(gae, {
    rewards: reward,
    values,
    terminated: field("terminated"),
    ends,
    valid,
  });
  const value = np.slice(values, [0, sizes.steps]);
  const nextValue = np.slice(values, [1, sizes.steps + 1]);
  const all: Readonly<Record<string, Value>> = {
    ...fields,
    observation: transforms.observation(stats, field("observation")),
    reward,
    ends,
    logProb,
    value,
    nextValue,
    advantage,
    return: returns,
    importance: valid,
  };
  const table = toSegments(layout.learned.pack(all), sizes);
  const flat = treeMap((x: Value) => np.reshape(x, [sizes.segments, ...x.shape.slice(2)]), memory);
  return { rollout: { table, memory: flat }, stats: next };
}

/** Advantages and returns of a rollout, by the task's settings. */
export function estimate(
  { gamma, lambda, parallel, normalize }: OnPolicySetup["gae"],
  inputs: Omit<AdvantageInputs, "gamma" | "lambda"> & { readonly valid: Value },
) {
  const { advantages: found, returns } = advantages({ ...inputs, gamma, lambda, parallel });
  return { advantage: normalize ? normalizedOver(found, inputs.valid) : found, returns };
}

/** [steps, rows, ...] as [segments, segment, ...]: the first steps of all rows, then those after them. */
export function toSegments(x: Value, { steps, rows, segment, segments }: RolloutSizes): Value {
  const rest = x.shape.slice(2);
  if (segment === 1) return np.reshape(x, [segments, 1, ...rest]);
  const chunks = np.reshape(x, [steps / segment, segment, rows, ...rest]);
  return np.reshape(np.swapaxes(chunks, 1, 2), [segments, segment, ...rest]);
}

/** The inverse of {@link toSegments}. */
export function toTime(x: Value, { steps, rows, segment }: RolloutSizes): Value {
  const rest = x.shape.slice(2);
  if (segment === 1) return np.reshape(x, [steps, rows, ...rest]);
  const chunks = np.reshape(x, [steps / segment, rows, segment, ...rest]);
  return np.reshape(np.swapaxes(chunks, 1, 2), [steps, rows, ...rest]);
}

/**
 * The rollout that is learned from, on the device. A rollout that has been learned from is no part of the state, so a
 * checkpoint between epochs holds none of it.
 */
export class RolloutBuffer extends TensorState<Rollout> {
  readonly varies = true;
  #ready = false;

  /** `empty` are tensors of a rollout's shapes, whose numbers are not read. */
  constructor(empty: unknown, options: TensorStateOptions) {
    super("experience", empty, options);
  }

  /** Replaces the rollout before. */
  override replace(rollout: readonly Tensor[]): void {
    super.replace(rollout);
    this.#ready = true;
  }

  /** True if there is a rollout with updates left. */
  get ready(): boolean {
    return this.#ready;
  }

  /** The arrays of a rollout with updates left. */
  sample(): readonly Tensor[] {
    if (this.#ready) return this.now;
    throw new EspalierError("BUFFER_NOT_READY", "onPolicyTask: there is no rollout to learn from", {
      fix: "restore a checkpoint as a whole: `environments`, `keys` and `experience` belong together",
    });
  }

  clear(): void {
    this.#ready = false;
  }

  override getState(): StateTree {
    return { rollout: this.#ready ? super.getState() : null };
  }

  override setState(state: StateTree): void {
    const { rollout } = state as { readonly rollout: StateTree };
    if (rollout !== null) super.setState(rollout);
    this.#ready = rollout !== null;
  }
}
