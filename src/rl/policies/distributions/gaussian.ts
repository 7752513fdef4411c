import { np } from "../../../engine/index.ts";
import type { Box } from "../../spaces/space.ts";
import type { Distribution } from "../policy.ts";
import { boxBounds, lastAxis } from "./box-bounds.ts";
import { type GaussianOptions, normalRows } from "./normal-rows.ts";

export type { GaussianOptions } from "./normal-rows.ts";

/**
 * A normal number for each element of a box. Parameters are [..., 2k]: k means, then the logarithms of k deviations.
 * The environment is given actions clipped to the box; what is learned from is what was drawn.
 *
 * @example
 * ```ts
 * const distribution = gaussian(box({ shape: [2], low: -1, high: 1 }));
 * const action = distribution.sample(parameters, key); // inside compile: f32[rows,4] gives f32[rows,2]
 * ```
 */
export function gaussian(box: Box, options: GaussianOptions = {}): Distribution {
  const { size, low, high } = boxBounds(box);
  const { parts, ...rows } = normalRows("gaussian", options);
  const endless = [...low, ...high].every((bound) => !Number.isFinite(bound));
  return {
    kind: "gaussian",
    parameters: 2 * size,
    actions: size,
    ...rows,
    mode: (parameters) => parts(parameters).mean,
    act: (action) => (endless ? action : np.clip(action, lastAxis(low), lastAxis(high))),
  };
}
