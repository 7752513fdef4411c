import { EspalierError } from "../../core/index.ts";
import { evalShape, np, spec as shaped, type Tensor, type Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import {
  type ApplyOptions,
  childKey,
  childParams,
  dense,
  drawParameters,
  gru,
  type Initializer,
  type InitKey,
  type InitOptions,
  initializers,
  inLayer,
  lstm,
  type Params,
  parameter,
  type Recurrent,
} from "../../nn/index.ts";
import { flatSize } from "../spaces/index.ts";
import type { Space } from "../spaces/space.ts";
import { distributionFor } from "./distributions.ts";
import { encoderFor } from "./encoders.ts";
import type { Distribution, Policy, PolicyOutput, PolicySpaces, PolicyStep } from "./policy.ts";
import type { PolicySpec } from "./spec.ts";

/** The policy of a checked spec: towers from observations to features, and heads that read them. */
export function towerPolicy(spec: PolicySpec, spaces: PolicySpaces): Policy {
  const { observationSpace, actionSpace } = spaces;
  const size = flatSize(observationSpace);
  const distribution = distributionFor(actionSpace, spec);
  // Two small matrix products are faster than one over both towers' weights, forward and backward.
  const names = spec.towers === "shared" ? ["shared"] : ["policy", "value"];
  const towers = names.map((name) => [name, towerFor(spec, observationSpace)] as const);
  const heads = [
    ["policy", policyHead(spec, actionSpace, distribution.parameters)],
    ["value", headOf(1, 1)],
  ] as const;

  /** The heads' outputs for the features of one shared tower, or of one tower each. */
  const outputs = (params: Params, features: readonly Value[], input: PolicyStep): PolicyOutput => {
    const axes = input.observation.shape.slice(0, -1);
    const [parameters, value] = heads.map(([name, head], i) =>
      inLayer(name, () => head.apply(childParams(params, name), features[i] ?? (features[0] as Value))),
    ) as [Value, Value];
    return {
      parameters: masked(
        distribution,
        np.reshape(parameters, [...axes, distribution.parameters]),
        input.mask,
      ),
      value: np.reshape(value, axes),
    };
  };

  return {
    spec,
    observationSpace,
    actionSpace,
    distribution,
    recurrent: spec.memory !== undefined,
    convolves: spec.encoder?.kind === "cnn",
    init: (key, options) => {
      const drawn = towers.map(([name, tower]) =>
        inLayer(name, () => ({ name, ...tower.init(childKey(key, name), options) })),
      );
      const params: Record<string, Params<Tensor>> = Object.fromEntries(
        drawn.map((tower) => [tower.name, tower.params]),
      );
      heads.forEach(([name, head], i) => {
        const { width } = drawn[i] ?? (drawn[0] as (typeof drawn)[number]);
        params[name] = { ...params[name], ...head.init(childKey(key, name), width, options) };
      });
      return params;
    },
    initialState: (rows) =>
      spec.memory ? Object.fromEntries(towers.map(([name, tower]) => [name, tower.initialState(rows)])) : {},
    step: (params, input, options) => {
      checkRows("step", input.observation, 2, size);
      const state: Record<string, Named> = {};
      const features = towers.map(([name, tower]) => {
        const run = () => tower.step(childParams(params, name), inputOf(name, input), options);
        const { y, state: after } = inLayer(name, run);
        if (spec.memory) state[name] = after;
        return y;
      });
      return { ...outputs(params, features, input), state };
    },
    unroll: (params, input, options) => {
      checkRows("unroll", input.observation, 3, size);
      const features = towers.map(([name, tower]) =>
        inLayer(name, () => tower.unroll(childParams(params, name), inputOf(name, input), options)),
      );
      return outputs(params, features, input);
    },
  };
}

const inputOf = (name: string, { observation, state, reset }: PolicyStep): TowerInput => ({
  x: observation,
  state: (state[name] ?? {}) as Named,
  reset,
});

function checkRows(method: string, { shape, type }: Value, axes: number, size: number): void {
  if (shape.length === axes && shape.at(-1) === size) return;
  const wanted = axes === 2 ? `[rows, ${size}]` : `[rows, time, ${size}]`;
  throw new EspalierError(
    "SHAPE_MISMATCH",
    `policy.${method}: the observation is ${type.text}, but should be ${wanted}`,
    { fix: "give flat observations of the space that the policy was made for" },
  );
}

function masked(distribution: Distribution, parameters: Value, mask: Value | undefined): Value {
  if (mask === undefined) return parameters;
  if (distribution.masked) return distribution.masked(parameters, mask);
  throw new EspalierError("MASK_UNSUPPORTED", `a ${distribution.kind} policy has no choices to forbid`, {
    fix: "leave the action mask out, or make the action space discrete",
  });
}

/** The input of a tower: flat observations [rows, size], or over time [rows, time, size]. */
interface TowerInput {
  readonly x: Value;
  /** {} without a memory. */
  readonly state: Named;
  readonly reset: Value;
}

type TowerState = { readonly [name: string]: Value };
type PolicyMemory = Recurrent<TowerState>;

function memoryOf({ memory }: PolicySpec): PolicyMemory | undefined {
  if (memory === undefined) return undefined;
  const make = memory.kind === "gru" ? gru : lstm;
  // What a recurrent layer made is what it is given again, whatever its names.
  return make(memory.width, { init: initializers.orthogonal() }) as unknown as PolicyMemory;
}

/**
 * Maps observations to the features that heads read: an encoder, followed by a memory where the spec has one. Parameters:
 * the encoder's, and `memory`.
 */
function towerFor(given: PolicySpec, space: Space) {
  const encoder = encoderFor(given, space);
  const memory = memoryOf(given);
  const size = flatSize(space);
  const encoded = (params: Params, rows: Value, options?: ApplyOptions): Value =>
    encoder.apply(params, rows, options);
  const inMemory = <T>(params: Params, run: (own: Params) => T): T =>
    inLayer("memory", () => run(childParams(params, "memory")));

  return {
    init: (key: InitKey, options?: InitOptions): { params: Params<Tensor>; width: number } => {
      const rows = shaped([1, size]);
      const own = encoder.init(key, rows, options);
      const [, width] = evalShape((p: Params, x: Value) => encoded(p, x), own, rows).shape as [
        number,
        number,
      ];
      if (!memory) return { params: own, width };
      const drawn = memory.init(childKey(key, "memory"), shaped([1, 1, width]), options);
      return { params: { ...own, memory: drawn }, width: memory.width };
    },
    initialState: (rows: number): TowerState => (memory ? (memory.initialState(rows)[0] as TowerState) : {}),
    step: (params: Params, { x, state, reset }: TowerInput, options?: ApplyOptions) => {
      const features = encoded(params, x, options);
      if (!memory) return { y: features, state: {} };
      const before = { x: features, state: [state as TowerState], reset };
      const next = inMemory(params, (own) => memory.step(own, before, options));
      return { y: next.y, state: next.state[0] as TowerState };
    },
    /** Features [rows * time, width]: heads are independent of time. */
    unroll: (params: Params, { x, state, reset }: TowerInput, options?: ApplyOptions) => {
      const [rows, time] = x.shape as [number, number];
      const features = encoded(params, np.reshape(x, [rows * time, size]), options);
      if (!memory) return features;
      const sequence = {
        x: np.reshape(features, [rows, time, features.shape[1] as number]),
        state: [state as TowerState],
        reset,
      };
      const { y } = inMemory(params, (own) => memory.unroll(own, sequence, options));
      return np.reshape(y, [rows * time, memory.width]);
    },
  };
}

/** The last layer of a policy or of a value function, over features [rows, width]. */
type Head = ReturnType<typeof headOf>;

/** The head of a distribution's parameters [rows, parameters]. */
function policyHead(spec: PolicySpec, actionSpace: Space, parameters: number): Head {
  const { deviation = "independent", logDeviation = 0 } = spec;
  if (actionSpace.kind !== "box") return headOf(parameters, 0.01);
  const half = parameters / 2;
  // The second half of a dependent head's outputs starts at logDeviation.
  const biases: Initializer = () => new Float32Array(parameters).fill(logDeviation, half);
  if (deviation === "dependent") return headOf(parameters, 0.01, biases);
  const means = headOf(half, 0.01);
  const own = { logDeviation: { shape: [half], init: initializers.constant(logDeviation) } };
  return {
    init: (key, width, options) => ({
      ...means.init(key, width, options),
      ...drawParameters(key, own, options),
    }),
    apply: (params, features) => {
      const mean = means.apply(params, features);
      const deviations = np.broadcastTo(parameter("policy", params, "logDeviation"), mean.shape);
      return np.concatenate([mean, deviations], { axis: -1 });
    },
  };
}

/**
 * Up to this many outputs are computed column by column. XLA's CPU back end fuses products of a matrix with a vector
 * into the loops around them, while those with two or three columns are slow: an update of two towers of 64 over 128
 * rows takes 109 instead of 127 microseconds. From four columns on there is no difference.
 */
const fewOutputs = 3;

function headOf(units: number, gain: number, biasInit: Initializer = initializers.zeros) {
  const layer = dense(units, { init: initializers.orthogonal({ gain }), biasInit });
  const column = (own: Params, features: Value, i: number): Value => {
    const at = (name: string): Value => np.slice(parameter("dense", own, name), "...", [i, i + 1]);
    return layer.apply({ w: at("w"), b: at("b") }, features);
  };
  const apply = (own: Params, features: Value): Value =>
    units === 1 || units > fewOutputs
      ? layer.apply(own, features)
      : np.concatenate(
          Array.from({ length: units }, (_, i) => column(own, features, i)),
          { axis: -1 },
        );
  return {
    init: (key: InitKey, width: number, options?: InitOptions): Params<Tensor> => ({
      head: layer.init(childKey(key, "head"), shaped([1, width]), options),
    }),
    apply: (params: Params, features: Value) =>
      inLayer("head", () => apply(childParams(params, "head"), features)),
  };
}
