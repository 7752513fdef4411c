import { np, spec as shaped, type Tensor, type Value } from "../../engine/index.ts";
import {
  childKey,
  childParams,
  dense,
  drawParameters,
  type Initializer,
  type InitKey,
  type InitOptions,
  initializers,
  inLayer,
  type Params,
  parameter,
} from "../../nn/index.ts";
import type { Space } from "../spaces/space.ts";
import type { PolicySpec } from "./spec.ts";

/** The last layer of a policy or of a value, over features [rows, width]. */
export interface Head {
  init(key: InitKey, width: number, options?: InitOptions): Params<Tensor>;
  apply(params: Params, features: Value): Value;
}

/** The head that gives a distribution's parameters [rows, parameters]. */
export function policyHead(spec: PolicySpec, actionSpace: Space, parameters: number): Head {
  const { deviation = "independent", logDeviation = 0 } = spec;
  if (actionSpace.kind !== "box") return headOf(parameters, 0.01);
  const half = parameters / 2;
  // The second half of what a dependent head gives starts at logDeviation.
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

/** The head that gives values [rows, 1]. */
export const valueHead = (): Head => headOf(1, 1);

/**
 * Up to so many outputs are computed each by itself. Products of a matrix with a vector become part of the loops around
 * them, while those with two or three columns are slow: an update of two towers of 64 over 128 rows takes 109 instead
 * of 127 microseconds on a CPU. From four columns on there is no difference.
 */
const fewOutputs = 3;

function headOf(units: number, gain: number, biasInit: Initializer = initializers.zeros): Head {
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
    init: (key, width, options) => ({
      head: layer.init(childKey(key, "head"), shaped([1, width]), options),
    }),
    apply: (params, features) => inLayer("head", () => apply(childParams(params, "head"), features)),
  };
}
