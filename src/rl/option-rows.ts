import { hasMethods, type Option, option, required, treeLeaves } from "../core/index.ts";
import { type Device, type EngineChoice, Tensor } from "../engine/index.ts";
import { devicesRow, monitorRow, type RateInputs } from "../learner/index.ts";
import type { Params } from "../nn/index.ts";
import type { Optimizer } from "../optim/index.ts";
import { isRamp, type Ramp } from "../schedule/index.ts";
import type { Curriculum } from "./curriculum/curriculum.ts";
import type { EnvironmentSource } from "./environments/registry.ts";
import type { UpdateEpochs } from "./experience/update-epochs.ts";
import type { Policy } from "./policies/policy.ts";
import type { PolicySpec } from "./policies/spec.ts";

/** Rows of option tables that tasks and presets share. See core/options.ts. */

export const size = option.integer({ min: 1 });
export const share = option.number({ min: 0, max: 1 });
export const positive = option.number({ above: 0 });
export const fromZero = option.number({ min: 0 });
export const flag = option.flag({});
export const ramp = option.made<Ramp>("a ramp such as linear({ ... })", isRamp, {});
/** A number, or a ramp instead. */
export const orRamp = (row: Option<number>) => option.either(row, ramp, {});

export const optimizer = option.object<Optimizer>(
  "an optimizer such as optim.adam({ learningRate: 3e-4 })",
  ["init", "update"],
  {},
);

/** A list of losses of type `L`, with an example. */
export const losses = <L>(example: string) => option.list<L>(`a list of losses such as ${example}`, {});

const policyText = 'a policy, or its spec such as { encoder: { kind: "mlp" } }';
export const policy = option.object<Policy | PolicySpec>(policyText, [], {});
/** Default: {}. */
export const policySpec = option.object<PolicySpec, { readonly default: PolicySpec }>(policyText, [], {
  default: {},
});

export const tunedEpochs = option.object<UpdateEpochs>(
  "autoUpdateEpochs({ ... })",
  ["observe", "getState", "setState"],
  {},
);

export const curriculum = option.made<Curriculum>(
  "lessonCurriculum({ lessons }), learningProgressCurriculum({ lessons }), or all members of Curriculum",
  (given) =>
    hasMethods(given, ["shares", "trained", "evaluated", "metrics", "getState", "setState"]) &&
    Array.isArray((given as Curriculum).lessons),
  {},
);

export const lesson = option.made<string | number>(
  "the name or the index of a lesson",
  (given) => typeof given === "string" || typeof given === "number",
  {},
);

export const params = option.made<Params<Tensor>>(
  "tensors as policy.init(seed) makes them, or the params of another task",
  (given) => {
    const leaves = treeLeaves<unknown>(given as Params<Tensor>);
    return leaves.length > 0 && leaves.every((leaf) => leaf instanceof Tensor);
  },
  {},
);

/** Checked by `checkSource`, which knows what to write instead. */
export const source = option.anything<EnvironmentSource>("an environment");

/** Rows that other rooms check: the learner, `RandomStreams` and the engine. */
export const checkedElsewhere = {
  rates: option.anything<RateInputs>("rates of the optimizer by name"),
  seed: option.anything<number>("a whole number from 0 on"),
  engine: option.anything<EngineChoice>('"xla" or "wasm"'),
  device: option.anything<number | Device>("a device or its index"),
  devices: devicesRow,
};

/** Rows that all tasks have, and that agents pass on as they are. */
export const passed = {
  /** The lesson of every episode, by name or index. Default: the first, with a warning if there are several. */
  lesson,
  /** Reported statistics of every update. */
  monitor: monitorRow,
  /** Initial parameters. Default: drawn by the policy. */
  params,
  deterministic: flag,
  /** Default: the trainer's seed. */
  seed: checkedElsewhere.seed,
  engine: checkedElsewhere.engine,
  device: checkedElsewhere.device,
  /**
   * Devices that train together, each on an equal part of every batch, and of environments that are compiled. Default: 1.
   */
  devices: checkedElsewhere.devices,
};

/** Rows of the optimizer that all tasks have. */
export const learning = {
  optimizer: required(optimizer),
  learningRate: orRamp(fromZero),
  /** Further rates of the optimizer. */
  rates: checkedElsewhere.rates,
};
