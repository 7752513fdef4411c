import { badOption, checkNames, checkSize, EspalierError, shown } from "../../core/index.ts";
import { type Device, type EngineChoice, np, put, random, Tensor, type Value } from "../../engine/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import type { Policy } from "../policies/policy.ts";
import { flatSize, type Space } from "../spaces/space.ts";
import { atOnce, checkForgets } from "./memoryless.ts";
import { type LossSettings, settingsOf } from "./options.ts";

/**
 * What somebody did: as many rows of each, flat as policies see them, actions raw. Numbers in arrays are looked at when
 * the loss is made; those of tensors are on their device already, and are not.
 */
export interface Demonstrations {
  /** [rows, size of an observation] */
  readonly observations: Tensor | Float32Array;
  /** [rows, size of an action] */
  readonly actions: Tensor | Float32Array;
}

/** Options of {@link cloningLoss}. */
export interface CloningLossOptions extends LossSettings {
  /** The policy that learns, without memory. */
  readonly policy: Policy;
  readonly demonstrations: Demonstrations;
  /** How many of the demonstrations each update draws. Default 64. */
  readonly batchSize?: number | undefined;
  /** Where demonstrations given as arrays are put: where training runs. */
  readonly engine?: EngineChoice | undefined;
  readonly device?: number | Device | undefined;
}

const kind = "cloningLoss";
const names = ["policy", "demonstrations", "batchSize", "engine", "device", "weight", "active", "name"];

/**
 * Behaviour cloning beside whatever else is learned: minus the log-probability of demonstrated actions, of rows that
 * each update draws anew. Reports `accuracy` for choices: how often the likeliest action is the demonstrated one.
 *
 * @example
 * ```ts
 * const cloning = cloningLoss({ policy, demonstrations: { observations, actions }, batchSize: 128, weight: 0.1 });
 * ```
 */
export function cloningLoss(options: CloningLossOptions): Loss<Experience, PolicyOutputs> {
  checkNames(kind, options, names);
  const { policy, demonstrations } = options;
  if (typeof demonstrations !== "object" || demonstrations === null)
    throw badOption(kind, `demonstrations are ${shown(demonstrations)}`, "give { observations, actions }");
  const batchSize = checkSize(kind, "batchSize", options.batchSize ?? 64);
  checkForgets(kind, "a policy", policy);
  const { distribution } = policy;
  const size = flatSize(policy.observationSpace);
  const observations = placed(options, "observations", size);
  const actions = placed(options, "actions", distribution.actions);
  const count = observations.shape[0] as number;
  if (count !== actions.shape[0] || count === 0)
    throw new EspalierError(
      "SHAPE_MISMATCH",
      `${kind}: there are ${count} observations and ${actions.shape[0]} actions`,
      { fix: "give one action for each observation, and at least one of them" },
    );
  const choices = policy.actionSpace.kind === "discrete" || policy.actionSpace.kind === "multiDiscrete";
  return {
    ...settingsOf("cloning", 1, options),
    term: ({ params, key }) => {
      const rows = random.randint(key, [batchSize], 0, count);
      const taken = np.take(actions, rows, { axis: 0 });
      const { parameters } = atOnce(policy, params, np.take(observations, rows, { axis: 0 }));
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
    throw badOption(kind, `${what} are ${given.type.text}`, `give f32[rows,${size}]`);
  }
  if (!(given instanceof Float32Array) || given.length % size !== 0)
    throw badOption(
      kind,
      `${what} are ${given instanceof Float32Array ? `${given.length} numbers` : shown(given)}`,
      `give a tensor f32[rows,${size}], or a Float32Array of such rows`,
    );
  const bad = given.findIndex((x) => !Number.isFinite(x));
  if (bad >= 0)
    throw badOption(
      kind,
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

/** Refuses actions that are none of the choices there are. */
function checkChoices(space: Space, actions: Float32Array): void {
  if (space.kind !== "discrete" && space.kind !== "multiDiscrete") return;
  const counts = space.kind === "discrete" ? [space.n] : space.choices;
  actions.forEach((action, i) => {
    const count = counts[i % counts.length] as number;
    if (Number.isInteger(action) && action >= 0 && action < count) return;
    const row = Math.floor(i / counts.length);
    throw badOption(
      kind,
      `actions have ${action} in row ${row}, and there are ${count} choices`,
      `give whole numbers from 0 to ${count - 1}`,
    );
  });
}
