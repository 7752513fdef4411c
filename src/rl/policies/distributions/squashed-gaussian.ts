import { EspalierError } from "../../../core/index.ts";
import { nn, np, type Value } from "../../../engine/index.ts";
import type { Box } from "../../spaces/space.ts";
import type { Distribution } from "../policy.ts";
import { boxBounds, lastAxis } from "./box-bounds.ts";
import { type GaussianOptions, normalRows } from "./normal-rows.ts";

/** The positive half of Gauss and Hermite's 16 points and weights: means of functions of a normal number. */
const points = [
  0.3867606045005574, 1.1638291005549648, 1.9519803457163334, 2.7602450476307014, 3.6008736241715487,
  4.492955302520011, 5.472225705949343, 6.630878198393129,
];
const weights = [
  0.286568521238012, 0.1583383727509497, 0.04728475235401406, 0.007266937601184749, 0.0005259849265739087,
  1.530003216248732e-5, 1.309473216286817e-7, 1.4978147231618412e-10,
];

/**
 * A normal number for each element of a box with finite bounds, squashed into them by tanh. Parameters are [..., 2k]:
 * k means, then the logarithms of k deviations, both before squashing. A raw action is the number before it is
 * squashed, from which densities keep their digits however near the bounds it ends. `mode` is what the mean becomes.
 *
 * `entropy` has no closed form: it is a mean over 16 points, without random numbers, right to 1e-4 up to deviations of
 * 1, and to 1e-2 up to 2.
 *
 * @example
 * ```ts
 * const distribution = squashedGaussian(box({ shape: [1], low: -2, high: 2 }));
 * const torque = distribution.act(distribution.sample(parameters, key)); // inside compile
 * ```
 */
export function squashedGaussian(box: Box, options: GaussianOptions = {}): Distribution {
  const kind = "squashedGaussian";
  const { size, low, high } = boxBounds(box);
  const { parts, sample, logProb, entropy, kl } = normalRows(kind, options);
  low.forEach((least, i) => {
    const most = high[i] as number;
    if (!(Number.isFinite(least) && Number.isFinite(most) && least < most))
      throw new EspalierError("SPACE_UNSUPPORTED", `${kind}: number ${i} lies between ${least} and ${most}`, {
        fix: "give the box finite bounds that differ, or do not squash its actions",
      });
  });
  const halves = high.map((most, i) => (most - (low[i] as number)) / 2);
  const middles = low.map((least, i) => least + (halves[i] as number));
  /** The logarithms of all widths together. */
  const widths = halves.reduce((sum, half) => sum + Math.log(half), 0);
  return {
    kind,
    parameters: 2 * size,
    actions: size,
    sample,
    kl,
    mode: (parameters) => parts(parameters).mean,
    logProb: (parameters, action) => {
      const squeezed = np.add(np.sum(logSlope(action), { axis: -1 }), widths);
      return np.subtract(logProb(parameters, action), squeezed);
    },
    entropy: (parameters) => {
      const { mean, logDeviation } = parts(parameters);
      const at = np.array([...points.map((x) => -x), ...points]);
      const places = np.add(
        np.expandDims(mean, -1),
        np.multiply(np.expandDims(np.exp(logDeviation), -1), at),
      );
      const each = np.multiply(logSlope(places), np.array([...weights, ...weights]));
      return np.add(np.add(entropy(parameters), np.sum(each, { axis: [-2, -1] })), widths);
    },
    act: (action) => {
      const squashed = np.add(np.multiply(np.tanh(action), lastAxis(halves)), lastAxis(middles));
      // Rounding may go beyond a bound by a digit.
      return np.clip(squashed, lastAxis(low), lastAxis(high));
    },
  };
}

/** log(1 - tanh(x)^2), which keeps its digits where tanh is 1. */
const logSlope = (x: Value): Value =>
  np.multiply(np.subtract(np.subtract(Math.LN2, x), nn.softplus(np.multiply(x, -2))), 2);
