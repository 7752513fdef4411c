import {
  badOption,
  checkSize,
  EspalierError,
  type Options,
  option,
  resolveOptions,
  shown,
} from "../../core/index.ts";
import { nn, np, random, type Value, type ValueLike } from "../../engine/index.ts";
import { type Box, boundAt, boxSize, type Space } from "../spaces/space.ts";
import type { Distribution } from "./policy.ts";
import type { PolicySpec } from "./spec.ts";

/**
 * The distribution over an action space that a policy's spec asks for.
 *
 * @example
 * ```ts
 * distributionFor(discrete(2)).kind; // "categorical"
 * distributionFor(box({ shape: [1], low: -2, high: 2 }), { squash: true }).kind; // "squashedGaussian"
 * ```
 */
export function distributionFor(
  space: Space,
  { deviation = "independent", squash = false }: Pick<PolicySpec, "deviation" | "squash"> = {},
): Distribution {
  switch (space.kind) {
    case "discrete":
      return categorical(space.n);
    case "multiDiscrete":
      return multiCategorical(space.choices);
    case "box":
      return squash ? squashedGaussian(space, { deviation }) : gaussian(space, { deviation });
    case "dict":
      throw new EspalierError("SPACE_UNSUPPORTED", "a policy cannot act in a dict of actions", {
        fix: "make the actions one multiDiscrete or one box, and take it apart in the environment",
      });
  }
}

/** The logit of forbidden choices. Their probability is exactly 0, and finite logits give finite gradients. */
const forbidden = -1e9;

/**
 * One of `n` choices. Parameters are logits [..., n]; actions are whole numbers in f32 [..., 1].
 *
 * @example
 * ```ts
 * const distribution = categorical(4);
 * const action = distribution.sample(logits, key); // inside compile: f32[rows,4] gives f32[rows,1]
 * ```
 */
export const categorical = (n: number): Distribution =>
  overChoices("categorical", [checkSize("categorical", "n", n)]);

/**
 * Several independent choices. Parameters are the logits of all in a row; actions [..., choices].
 *
 * @example
 * ```ts
 * const distribution = multiCategorical([5, 2]); // 7 logits, 2 actions
 * ```
 */
export function multiCategorical(choices: readonly number[]): Distribution {
  const kind = "multiCategorical";
  if (!Array.isArray(choices) || choices.length === 0)
    throw badOption(kind, `${shown(choices)} is no list of choices`, "give e.g. [5, 2]");
  return overChoices(
    kind,
    choices.map((n, i) => checkSize(kind, `choices[${i}]`, n)),
  );
}

function overChoices(kind: string, sizes: readonly number[]): Distribution {
  const groups = choiceGroups(sizes);
  /** Sums over choices of a value computed for each group, [..., count]. */
  const summed = (each: (group: ChoiceGroup) => Value): Value =>
    groups.map((group) => np.sum(each(group), { axis: -1 })).reduce((a, b) => np.add(a, b));
  /** Rows of actions from the actions of each group, [..., count]. */
  const joined = (each: (group: ChoiceGroup, index: number) => Value): Value => {
    const [first, ...rest] = groups.map(each) as [Value, ...Value[]];
    return rest.length === 0 ? first : np.concatenate([first, ...rest], { axis: -1 });
  };
  const logs = (parameters: Value, group: ChoiceGroup): Value => nn.logSoftmax(logitsOf(parameters, group));
  return {
    kind,
    parameters: sizes.reduce((sum, n) => sum + n, 0),
    actions: sizes.length,
    sample: (parameters, key) =>
      joined((group, i) =>
        drawChoice(logitsOf(parameters, group), groups.length === 1 ? key : random.foldIn(key, i)),
      ),
    mode: (parameters) =>
      joined((group) => np.astype(np.argmax(logitsOf(parameters, group), { axis: -1 }), "f32")),
    logProb: (parameters, action) =>
      summed((group) => {
        const chosen = np.expandDims(actionsOf(action, group), -1);
        const is = np.equal(chosen, np.arange(group.n, { dtype: "f32" }));
        return np.sum(np.where(is, logs(parameters, group), 0), { axis: -1 });
      }),
    entropy: (parameters) =>
      summed((group) => {
        const log = logs(parameters, group);
        return np.negative(mean(log, log));
      }),
    kl: (p, q) =>
      summed((group) => {
        const log = logs(p, group);
        return mean(log, np.subtract(log, logs(q, group)));
      }),
    act: (action) => action,
    masked: (parameters, mask) => np.where(mask, parameters, forbidden),
  };
}

/** The mean of x under log-probabilities. Choices of probability 0 count nothing, even if x is infinite there. */
function mean(log: Value, x: Value): Value {
  const p = np.exp(log);
  return np.sum(np.multiply(p, np.where(np.greater(p, 0), x, 0)), { axis: -1 });
}

/** Adjacent choices of equal size, which are computed together. */
interface ChoiceGroup {
  /** The number of choices, and the size of each. */
  readonly count: number;
  readonly n: number;
  /** The first column in a row of logits, and in a row of actions. */
  readonly logits: number;
  readonly actions: number;
}

/** The longest runs of equal sizes. */
function choiceGroups(sizes: readonly number[]): readonly ChoiceGroup[] {
  const groups: ChoiceGroup[] = [];
  let logits = 0;
  sizes.forEach((n, i) => {
    const last = groups.at(-1);
    if (last?.n === n) groups[groups.length - 1] = { ...last, count: last.count + 1 };
    else groups.push({ count: 1, n, logits, actions: i });
    logits += n;
  });
  return groups;
}

/** Elements `from` to `from + size` of the last axis. */
const cut = (x: Value, from: number, size: number): Value =>
  from === 0 && x.shape.at(-1) === size ? x : np.slice(x, "...", [from, from + size]);

/** A group's part of rows of logits [..., all]: [..., count, n]. */
function logitsOf(rows: Value, { logits, count, n }: ChoiceGroup): Value {
  return np.reshape(cut(rows, logits, count * n), [...rows.shape.slice(0, -1), count, n]);
}

/** A group's part of rows of actions: [..., count]. */
const actionsOf = (rows: Value, { actions, count }: ChoiceGroup): Value => cut(rows, actions, count);

/** Up to this many choices are drawn by one uniform number; beyond, the program would grow too long. */
const fewChoices = 32;

/** A choice drawn along the last axis by the softmax of its logits, in f32 without that axis. */
function drawChoice(logits: Value, key: Value): Value {
  if ((logits.shape.at(-1) as number) > fewChoices) return np.astype(random.categorical(key, logits), "f32");
  return choiceAt(logits, random.uniform(key, logits.shape.slice(0, -1)));
}

/**
 * The choice at a quantile from 0 up to 1 of the cumulative probabilities. One random number a row and no logarithm,
 * where the Gumbel trick takes one number and two logarithms for each choice. Probabilities are added one after the
 * other, so that rounding never selects a choice of probability 0.
 */
export function choiceAt(logits: Value, quantile: Value): Value {
  const n = logits.shape.at(-1) as number;
  const weights = np.exp(np.subtract(logits, np.max(logits, { axis: -1, keepdims: true })));
  const ends: Value[] = [];
  for (let i = 0; i < n; i++) {
    const weight = np.slice(weights, "...", i);
    const before = ends.at(-1);
    ends.push(before ? np.add(before, weight) : weight);
  }
  // The largest quantile is 1 - 2^-23, and its product with the sum is below the sum in every case.
  const mark = np.multiply(quantile, ends.at(-1) as Value);
  return ends
    .slice(0, -1)
    .map((end) => np.astype(np.greaterEqual(mark, end), "f32"))
    .reduce((sum, passed) => np.add(sum, passed), np.zerosLike(quantile));
}

/**
 * A normal distribution for each element of a box. Parameters are [..., 2k]: k means, then the logarithms of k
 * deviations. The environment receives actions clipped to the box; the raw samples are learned from.
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
  const unbounded = [...low, ...high].every((bound) => !Number.isFinite(bound));
  return {
    kind: "gaussian",
    parameters: 2 * size,
    actions: size,
    ...rows,
    mode: (parameters) => parts(parameters).mean,
    act: (action) => (unbounded ? action : np.clip(action, lastAxis(low), lastAxis(high))),
  };
}

/** The positive half of the 16 Gauss-Hermite points and weights. */
const points = [
  0.3867606045005574, 1.1638291005549648, 1.9519803457163334, 2.7602450476307014, 3.6008736241715487,
  4.492955302520011, 5.472225705949343, 6.630878198393129,
];
const weights = [
  0.286568521238012, 0.1583383727509497, 0.04728475235401406, 0.007266937601184749, 0.0005259849265739087,
  1.530003216248732e-5, 1.309473216286817e-7, 1.4978147231618412e-10,
];

/**
 * A normal distribution for each element of a box with finite bounds, squashed into them by tanh. Parameters are
 * `[..., 2k]`: k means, then the logarithms of k deviations, both before squashing. A raw action is the number before
 * squashing, so that densities keep their precision near the bounds. `mode` is the squashed mean.
 *
 * `entropy` has no closed form: it is a Gauss-Hermite quadrature over 16 points, accurate to 1e-4 up to deviations of
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
  /** The sum of the logarithms of all widths. */
  const widths = halves.reduce((sum, half) => sum + Math.log(half), 0);
  return {
    kind,
    parameters: 2 * size,
    actions: size,
    sample,
    kl,
    mode: (parameters) => parts(parameters).mean,
    logProb: (parameters, action) => {
      const correction = np.add(np.sum(logSlope(action), { axis: -1 }), widths);
      return np.subtract(logProb(parameters, action), correction);
    },
    entropy: (parameters) => {
      const { mean, logDeviation } = parts(parameters);
      const at = np.array([...points.map((x) => -x), ...points]);
      const x = np.add(np.expandDims(mean, -1), np.multiply(np.expandDims(np.exp(logDeviation), -1), at));
      const each = np.multiply(logSlope(x), np.array([...weights, ...weights]));
      return np.add(np.add(entropy(parameters), np.sum(each, { axis: [-2, -1] })), widths);
    },
    act: (action) => {
      const squashed = np.add(np.multiply(np.tanh(action), lastAxis(halves)), lastAxis(middles));
      // Rounding may exceed a bound in the last digit.
      return np.clip(squashed, lastAxis(low), lastAxis(high));
    },
  };
}

/** log(1 - tanh(x)^2), precise where tanh is 1. */
const logSlope = (x: Value): Value =>
  np.multiply(np.subtract(np.subtract(Math.LN2, x), nn.softplus(np.multiply(x, -2))), 2);

const gaussianTable = {
  /**
   * The second half of the parameters: with `independent` the logarithms of deviations as they are, with `dependent`
   * a network's output, clipped to -20 to 2 so that neither a deviation nor its inverse overflows.
   * Default: independent.
   */
  deviation: option.oneOf(["independent", "dependent"], { default: "independent" }),
};

/** Options of {@link gaussian} and {@link squashedGaussian}. */
export interface GaussianOptions extends Options<typeof gaussianTable> {}

const logRoot2Pi = Math.log(2 * Math.PI) / 2;

/** Independent normal distributions with parameters [..., 2k]: k means, then the logarithms of k deviations. */
function normalRows(kind: string, options: GaussianOptions) {
  const { deviation } = resolveOptions(kind, options, gaussianTable);
  /** Means and logarithms of deviations, each [..., k]. */
  const parts = (parameters: Value) => {
    const [mean, given] = np.split(parameters, 2, { axis: -1 });
    return { mean, logDeviation: deviation === "dependent" ? np.clip(given, -20, 2) : given };
  };
  const sum = (x: Value): Value => np.sum(x, { axis: -1 });
  return {
    parts,
    sample: (parameters: Value, key: Value) => {
      const { mean, logDeviation } = parts(parameters);
      return np.add(mean, np.multiply(np.exp(logDeviation), random.normal(key, mean.shape)));
    },
    logProb: (parameters: Value, action: Value) => {
      const { mean, logDeviation } = parts(parameters);
      const distance = np.multiply(np.subtract(action, mean), np.exp(np.negative(logDeviation)));
      const each = np.add(np.add(np.multiply(np.square(distance), 0.5), logDeviation), logRoot2Pi);
      return np.negative(sum(each));
    },
    entropy: (parameters: Value) => sum(np.add(parts(parameters).logDeviation, 0.5 + logRoot2Pi)),
    kl: (p: Value, q: Value) => {
      const [a, b] = [parts(p), parts(q)];
      const twice = np.multiply(np.subtract(a.logDeviation, b.logDeviation), 2);
      const distance = np.multiply(np.subtract(a.mean, b.mean), np.exp(np.negative(b.logDeviation)));
      const each = np.add(np.subtract(np.expm1(twice), twice), np.square(distance));
      return np.multiply(sum(each), 0.5);
    },
  };
}

/** A box's bounds for each of its numbers, in order. */
function boxBounds(box: Box) {
  const size = boxSize(box);
  const each = (bound: Box["low"]): number[] => Array.from({ length: size }, (_, i) => boundAt(bound, i));
  return { size, low: each(box.low), high: each(box.high) };
}

/** Numbers for the last axis inside a compiled function: one if all are equal. */
function lastAxis(numbers: readonly number[]): ValueLike {
  const [first] = numbers;
  return first !== undefined && numbers.every((x) => x === first) ? first : np.array(numbers);
}
