import {
  badOption,
  checkOptions,
  EspalierError,
  type Options,
  option,
  required,
  resolveOptions,
  shown,
  treeMap,
} from "../../core/index.ts";
import { np, put, random, stopGradient, Tensor, type Value } from "../../engine/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import * as rows from "../option-rows.ts";
import { applyPolicy, checkNotRecurrent, type Policy } from "../policies/policy.ts";
import { choiceGroups, flatSize, type Space } from "../spaces/space.ts";
import { lossMembers, lossRows, maskRows, meanOf } from "./loss.ts";

// Whether it has a memory is checked by `checkNotRecurrent`.
const policyRow = required(option.object<Policy>("a policy without memory", ["unroll"], {}));

const kickstartTable = {
  ...lossRows,
  /** A policy over the same spaces with the same kind of distribution, without memory. */
  teacher: policyRow,
  /** Its parameters, on the device of the training. They are not changed and must not be disposed. */
  params: required(option.object<Params<Tensor>>("parameters of the teacher", [], {})),
};

/**
 * Pulls the policy towards a frozen teacher: the divergence of the policy from the teacher over the rollout's
 * observations. The teacher is evaluated once, during the rollout, and its output is kept in the field
 * `<name>.parameters`; where a batch lacks that field, the teacher is evaluated on the batch.
 *
 * @example
 * ```ts
 * const kickstart = kickstartLoss({
 *   teacher, params: teacherParams,
 *   weight: linear({ from: 1, to: 0, over: { samples: 500_000 } }),
 * });
 * ```
 */
export function kickstartLoss(options: Options<typeof kickstartTable>): Loss<Experience, PolicyOutputs> {
  const kind = "kickstartLoss";
  checkOptions(kind, options, kickstartTable);
  const { teacher, params } = options;
  checkNotRecurrent(kind, "a teacher", teacher);
  const { distribution } = teacher;
  const settings = lossMembers("kickstart", 1, options);
  const field = `${settings.name}.parameters`;
  const taught = (batch: Experience): Value => {
    // Tensors from outside become inputs of the program that is being traced.
    const own = treeMap((x: Tensor): Value => np.array(x), params as Params<unknown>) as Params;
    return applyPolicy(teacher, own, batch.observation, batch.mask).parameters;
  };
  return {
    ...settings,
    fields: { [field]: { shape: [distribution.parameters], dtype: "f32" } },
    rollout: ({ batch }) => ({ [field]: taught(batch) }),
    term: ({ batch, outputs }) => {
      const wanted = stopGradient(batch[field] ?? taught(batch));
      const kl = maskRows(distribution.kl(wanted, outputs.parameters), batch.valid);
      return { loss: meanOf(kl, batch.valid) };
    },
  };
}

/**
 * Demonstrated observations and raw actions, one row each, flat as policies take them. Numbers in arrays are checked
 * when the loss is made; those of tensors are not.
 */
export interface Demonstrations {
  /** [rows, size of an observation] */
  readonly observations: Tensor | Float32Array;
  /** [rows, size of an action] */
  readonly actions: Tensor | Float32Array;
}

const cloning = "cloningLoss";
const cloningTable = {
  ...lossRows,
  /** The learning policy, without memory. */
  policy: policyRow,
  demonstrations: required(option.object<Demonstrations>("{ observations, actions }", [], {})),
  /** Demonstrations drawn by each update. Default: 64. */
  batchSize: option.integer({ min: 1, default: 64 }),
  /** The device of demonstrations given as arrays: that of the training. */
  engine: rows.checkedElsewhere.engine,
  device: rows.checkedElsewhere.device,
};

/** Options of {@link cloningLoss}. */
export interface CloningLossOptions extends Options<typeof cloningTable> {}

/**
 * Behaviour cloning beside other losses: minus the log-probability of demonstrated actions, of rows that each update
 * draws. Reports `accuracy` for choices: how often the most likely action is the demonstrated one.
 *
 * @example
 * ```ts
 * const cloning = cloningLoss({ policy, demonstrations: { observations, actions }, batchSize: 128, weight: 0.1 });
 * ```
 */
export function cloningLoss(options: CloningLossOptions): Loss<Experience, PolicyOutputs> {
  const { policy, batchSize } = resolveOptions(cloning, options, cloningTable);
  checkNotRecurrent(cloning, "a policy", policy);
  const { distribution } = policy;
  const size = flatSize(policy.observationSpace);
  const observations = placed(options, "observations", size);
  const actions = placed(options, "actions", distribution.actions);
  const count = observations.shape[0] as number;
  if (count !== actions.shape[0] || count === 0)
    throw new EspalierError(
      "SHAPE_MISMATCH",
      `${cloning}: there are ${count} observations and ${actions.shape[0]} actions`,
      { fix: "give one action for each observation, and at least one of them" },
    );
  const choices = choiceGroups(policy.actionSpace).length > 0;
  return {
    ...lossMembers("cloning", 1, options),
    term: ({ params, key }) => {
      const drawn = random.randint(key, [batchSize], 0, count);
      const taken = np.take(actions, drawn, { axis: 0 });
      const { parameters } = applyPolicy(policy, params, np.take(observations, drawn, { axis: 0 }));
      return {
        loss: np.mean(distribution.logProb(parameters, taken)).neg(),
        ...(choices && { metrics: { accuracy: agreement(distribution.mode(parameters), taken) } }),
      };
    },
  };
}

const agreement = (mode: Value, taken: Value): Value =>
  np.mean(np.min(np.equal(mode, taken).astype("f32"), { axis: -1 }));

function placed(options: CloningLossOptions, what: keyof Demonstrations, size: number): Tensor {
  const given = options.demonstrations[what];
  const { engine, device } = options;
  if (given instanceof Tensor) {
    if (given.ndim === 2 && given.shape[1] === size && given.dtype === "f32") return given;
    throw badOption(cloning, `${what} are ${given.type.text}`, `give f32[rows,${size}]`);
  }
  if (!(given instanceof Float32Array) || given.length % size !== 0)
    throw badOption(
      cloning,
      `${what} are ${given instanceof Float32Array ? `${given.length} numbers` : shown(given)}`,
      `give a tensor f32[rows,${size}], or a Float32Array of such rows`,
    );
  const bad = given.findIndex((x) => !Number.isFinite(x));
  if (bad >= 0)
    throw badOption(
      cloning,
      `${what} have ${given[bad]} in row ${Math.floor(bad / size)}`,
      "leave out rows that are not numbers",
    );
  if (what === "actions") checkChoices(options.policy.actionSpace, given);
  return put(given, {
    shape: [given.length / size, size],
    ...(engine !== undefined && { engine }),
    ...(device !== undefined && { device }),
  });
}

/** Refuses actions that are no valid choice. */
function checkChoices(space: Space, actions: Float32Array): void {
  const counts = choiceGroups(space);
  if (counts.length === 0) return;
  actions.forEach((action, i) => {
    const count = counts[i % counts.length] as number;
    if (Number.isInteger(action) && action >= 0 && action < count) return;
    const row = Math.floor(i / counts.length);
    throw badOption(
      cloning,
      `actions have ${action} in row ${row}, and there are ${count} choices`,
      `give whole numbers from 0 to ${count - 1}`,
    );
  });
}
