import { EspalierError } from "../../core/index.ts";
import { np, type Tensor, type Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import { childKey, childParams, inLayer, type Params } from "../../nn/index.ts";
import { flatSize } from "../spaces/index.ts";
import type { Space } from "../spaces/space.ts";
import { distributionFor } from "./distributions/for-space.ts";
import { policyHead, valueHead } from "./heads.ts";
import type { Distribution, Policy, PolicyOutput, PolicyStep } from "./policy.ts";
import type { PolicySpec } from "./spec.ts";
import { type Tower, type TowerInput, towerOf } from "./tower.ts";

/** What a policy sees and what it can do: an environment has both. */
export interface PolicySpaces {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
}

/** A policy over towers, as a description that was checked says. */
export function towerPolicy(spec: PolicySpec, spaces: PolicySpaces): Policy {
  const { observationSpace, actionSpace } = spaces;
  const size = flatSize(observationSpace);
  const distribution = distributionFor(actionSpace, spec);
  // Two small products side by side are faster than one of both towers' weights in a row, forward and backward.
  const places = spec.towers === "shared" ? ["shared"] : ["policy", "value"];
  const towers = places.map((name): readonly [string, Tower] => [name, towerOf(spec, observationSpace)]);
  const heads = [
    ["policy", policyHead(spec, actionSpace, distribution.parameters)],
    ["value", valueHead()],
  ] as const;

  /** What the heads give for the features of one tower, or of each its own. */
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
