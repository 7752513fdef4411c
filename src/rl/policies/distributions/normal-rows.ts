import { checkNames, checkWord } from "../../../core/index.ts";
import { np, random, type Value } from "../../../engine/index.ts";

/** Options of {@link gaussian} and {@link squashedGaussian}. */
export interface GaussianOptions {
  /**
   * What the second half of the parameters is: with `independent` (the default) the logarithms of deviations as they
   * are, with `dependent` what a network gave, held from -20 to 2 so that neither a deviation nor its inverse
   * overflows.
   */
  readonly deviation?: "independent" | "dependent";
}

/** Means and logarithms of deviations, each [..., k]. */
interface Normal {
  readonly mean: Value;
  readonly logDeviation: Value;
}

/** Independent normal numbers with parameters [..., 2k]: k means, then the logarithms of k deviations. */
export interface NormalRows {
  parts(parameters: Value): Normal;
  sample(parameters: Value, key: Value): Value;
  logProb(parameters: Value, action: Value): Value;
  entropy(parameters: Value): Value;
  kl(p: Value, q: Value): Value;
}

const logRoot2Pi = Math.log(2 * Math.PI) / 2;

export function normalRows(kind: string, options: GaussianOptions): NormalRows {
  checkNames(kind, options, ["deviation"]);
  const deviation = checkWord(kind, "deviation", options.deviation ?? "independent", [
    "independent",
    "dependent",
  ]);
  const parts = (parameters: Value): Normal => {
    const [mean, given] = np.split(parameters, 2, { axis: -1 });
    return { mean, logDeviation: deviation === "dependent" ? np.clip(given, -20, 2) : given };
  };
  const sum = (x: Value): Value => np.sum(x, { axis: -1 });
  return {
    parts,
    sample: (parameters, key) => {
      const { mean, logDeviation } = parts(parameters);
      return np.add(mean, np.multiply(np.exp(logDeviation), random.normal(key, mean.shape)));
    },
    logProb: (parameters, action) => {
      const { mean, logDeviation } = parts(parameters);
      const distance = np.multiply(np.subtract(action, mean), np.exp(np.negative(logDeviation)));
      const each = np.add(np.add(np.multiply(np.square(distance), 0.5), logDeviation), logRoot2Pi);
      return np.negative(sum(each));
    },
    entropy: (parameters) => sum(np.add(parts(parameters).logDeviation, 0.5 + logRoot2Pi)),
    kl: (p, q) => {
      const [a, b] = [parts(p), parts(q)];
      const twice = np.multiply(np.subtract(a.logDeviation, b.logDeviation), 2);
      const distance = np.multiply(np.subtract(a.mean, b.mean), np.exp(np.negative(b.logDeviation)));
      const each = np.add(np.subtract(np.expm1(twice), twice), np.square(distance));
      return np.multiply(sum(each), 0.5);
    },
  };
}
