import { EspalierError, type Options, option, resolveOptions } from "../core/index.ts";
import { nn as functions, np, type Shape, type Specs, Value, vmap } from "../engine/index.ts";
import { crossEntropy } from "../nn/index.ts";

/**
 * Metrics of a whole set of examples, computed on the device. A mean of batches' means is wrong for most of them (F1,
 * AUC, perplexity, everything with masks), so a metric is a state that grows batch by batch:
 *
 * ```
 * state = init({ examples, outputs, y })         zeros, of shapes that follow from those of outputs and targets
 * for each batch:  state = add(state, outputs, y, weight)
 * value(state)                                   numbers by name, or a table
 *
 * validation    one state, carried through the set
 * training      the batch's own: value(add(init(...), ...)), over all micro-batches of an update
 * ```
 *
 * Labels that are ignored and examples of weight 0 add nothing; an example of weight 2 counts as two.
 */

/** A number about a batch as a plain function: the mean over its examples. Weights of examples do not reach it. */
export type Metric<O = Value, Y = Value> = (outputs: O, y: Y) => Value;

/** The set that a metric is about. */
export interface MetricSet<O = Value, Y = Value> {
  /** The number of examples; undefined for a stream whose end is not known. */
  readonly examples?: number | undefined;
  /** Shapes of a batch's outputs and targets. The first axis counts examples, and its length may differ. */
  readonly outputs: Specs<O>;
  readonly y: Specs<Y>;
}

/**
 * A metric of the whole set. `S` is its state, a tree of values whose shapes stay as they are. `value` gives one number,
 * numbers by name (reported as `<metric>.<name>`), or a table, which validation hands to hooks.
 *
 * @example
 * ```ts
 * const bias: SetMetric<{ sum: Value; count: Value }> = {
 *   init: () => ({ sum: np.zeros([]), count: np.zeros([]) }),
 *   add: ({ sum, count }, outputs, y) => ({ sum: sum.add(np.sum(outputs.sub(y))), count: count.add(y.size) }),
 *   value: ({ sum, count }) => sum.div(count),
 * };
 * supervisedTask({ ..., metrics: { bias } });
 * ```
 */
export interface SetMetric<S = unknown, O = Value, Y = Value> {
  init(set: MetricSet<O, Y>): S;
  /** `weight` has the first axes of the targets; undefined where the data has none. */
  add(state: S, outputs: O, y: Y, weight?: Value): S;
  value(state: S): Value | Readonly<Record<string, Value>>;
  /**
   * True where its value may be taken of the sum of the states of parts of a set: for training batches of which several
   * ranks have parts. Default: false, and such batches do not report it.
   */
  readonly sums?: boolean;
}

/** Metrics by name. */
export type Metrics<O = Value, Y = Value> = Readonly<Record<string, Metric<O, Y> | SetMetric<unknown, O, Y>>>;

/** True for a metric with a state. */
export const isSetMetric = (metric: unknown): metric is SetMetric<unknown, unknown, unknown> =>
  (typeof metric === "object" || typeof metric === "function") &&
  metric !== null &&
  ["init", "add", "value"].every((name) => typeof Reflect.get(metric, name) === "function");

const classTable = {
  /** Labels of this number do not count. Default: none. */
  ignore: option.integer({}),
};
type ClassMetricOptions = Options<typeof classTable>;

const averageTable = {
  ...classTable,
  /**
   * As scikit-learn's: of class 1; the mean over classes that occur; of all decisions together; the mean weighted by how
   * often classes occur; each class by itself, `class0`, `class1`, ... Default: "binary" with two classes, "macro" with
   * more.
   */
  average: option.oneOf(["binary", "macro", "micro", "weighted", "none"], {}),
  /** The probability from which on a logit means yes. Default: 0.5. */
  threshold: option.number({ above: 0, below: 1, default: 0.5 }),
  /** Outputs and targets are one yes or no for each of several labels. Default: false. */
  multiLabel: option.flag({ default: false }),
};
type AverageMetricOptions = Options<typeof averageTable>;

// --- Classes -------------------------------------------------------------------------------------------------------

type Sums = { readonly sum: Value; readonly count: Value };
const noSums = (): Sums => ({ sum: np.zeros([]), count: np.zeros([]) });
/** 0 of nothing. */
const ratio = (a: Value, b: Value): Value => a.div(np.where(np.equal(b, 0), 1, b));

const labelMean = (of: (outputs: Value, labels: Labels) => Value, skip?: number): SetMetric<Sums> => ({
  sums: true,
  init: noSums,
  add: ({ sum, count }, outputs, y, weight) => {
    const labels = labelsOf(outputs, y, weight, skip);
    return {
      sum: sum.add(np.sum(of(outputs, labels).mul(labels.weight))),
      count: count.add(np.sum(labels.weight)),
    };
  },
  value: ({ sum, count }) => ratio(sum, count),
});

interface Labels {
  /** i32 in their own shape; 0 where one does not count. */
  readonly label: Value;
  /** f32 of the same shape; 0 where one does not count. */
  readonly weight: Value;
}

/** Labels of outputs with an axis of classes, or of single logits. Distributions count as their likeliest class. */
function labelsOf(outputs: Value, y: Value, weight: Value | undefined, skip?: number): Labels {
  const shape = labelShape(outputs.shape, y.shape);
  const given = shape.length < y.ndim && y.shape.at(-1) !== 1 ? np.argmax(y, { axis: -1 }) : y.reshape(shape);
  const label = given.astype("i32");
  const all = spread(weight, label.shape);
  if (skip === undefined) return { label, weight: all };
  const counts = np.notEqual(label, skip);
  return { label: np.where(counts, label, 0), weight: np.where(counts, all, 0) };
}

/** Weights of the first axes, repeated along the others. */
export function spread(weight: Value | undefined, shape: Shape): Value {
  if (!weight) return np.ones(shape);
  const axes = weight.shape.slice(0, shape.length);
  const given = weight.astype("f32").reshape([...axes, ...shape.slice(axes.length).map(() => 1)]);
  return np.broadcastTo(given, shape);
}

/** One logit for yes or no: no axis of classes, or one of length 1. */
const isBinary = (outputs: Shape, y: Shape): boolean =>
  outputs.length === y.length ? outputs.length === 1 || outputs.at(-1) === 1 : outputs.at(-1) === 1;

/** The shape of labels without an axis of classes. */
const labelShape = (outputs: Shape, y: Shape): Shape =>
  y.length > 1 && (isBinary(outputs, y) ? y.at(-1) === 1 : y.length === outputs.length) ? y.slice(0, -1) : y;

const classesOf = ({ outputs, y }: MetricSet): number =>
  isBinary(outputs.shape, y.shape) ? 2 : (outputs.shape.at(-1) as number);

/** The class that is chosen, in the labels' shape. */
function chosen(outputs: Value, label: Value, threshold?: number): Value {
  return outputs.size === label.size
    ? isYes(outputs, threshold).astype("i32").reshape(label.shape)
    : np.argmax(outputs, { axis: -1 });
}

const isYes = (logits: Value, threshold = 0.5): Value =>
  np.greaterEqual(logits.astype("f32"), Math.log(threshold / (1 - threshold)));

const rightOf = (outputs: Value, { label }: Labels): Value =>
  np.equal(chosen(outputs, label), label).astype("f32");

/** {@link accuracy} as a function of a batch and as a metric of the whole set. */
export interface Accuracy extends SetMetric<Sums> {
  (outputs: Value, y: Value): Value;
  (options: ClassMetricOptions): SetMetric<Sums>;
}

/**
 * The share of examples whose greatest output is the one of their label. Labels are whole numbers without the axis of
 * classes, or distributions of the outputs' shape. `accuracy({ ignore: -100 })` leaves such labels out.
 *
 * @example
 * ```ts
 * supervisedTask({ ..., loss: nn.crossEntropy, metrics: { accuracy } });
 * ```
 */
export const accuracy = Object.assign(accuracyOf, labelMean(rightOf)) as Accuracy;

function accuracyOf(given: Value | ClassMetricOptions, y?: Value): Value | SetMetric<Sums> {
  if (!(given instanceof Value)) {
    return labelMean(rightOf, resolveOptions("accuracy", given, classTable).ignore);
  }
  if (given.ndim === 0)
    throw new EspalierError("SHAPE_MISMATCH", "accuracy: the outputs are one number", {
      fix: "give outputs with one number for each class along the last axis",
    });
  return np.mean(rightOf(given, labelsOf(given, y as Value, undefined)));
}

/**
 * The share of examples whose label is among the k greatest outputs.
 *
 * @example
 * ```ts
 * supervisedTask({ ..., metrics: { top5: topK({ k: 5 }) } });
 * ```
 */
export function topK(options: Options<typeof topTable> = {}): SetMetric<Sums> {
  const settings = resolveOptions("topK", options, topTable);
  return labelMean((outputs, { label }) => {
    if (outputs.ndim !== label.ndim + 1 || outputs.shape.at(-1) === 1)
      throw new EspalierError("SHAPE_MISMATCH", `topK: the outputs, ${outputs.type.text}, have no classes`, {
        fix: "give outputs with one number for each class along the last axis; for yes or no take accuracy",
      });
    const own = np.takeAlongAxis(outputs, np.expandDims(label, -1), { axis: -1 });
    const earlier = np.less(np.iota(outputs.shape, { axis: -1 }), np.expandDims(label, -1));
    const before = np.logicalOr(np.greater(outputs, own), np.logicalAnd(np.equal(outputs, own), earlier));
    return np.less(np.sum(before.astype("i32"), { axis: -1 }), settings.k).astype("f32");
  }, settings.ignore);
}

const topTable = {
  ...classTable,
  /** Default: 5. */
  k: option.integer({ min: 1, default: 5 }),
};

/** e to the mean cross entropy of the labels. Default of `ignore`: -100. */
export function perplexity(options: ClassMetricOptions = {}): SetMetric<Sums> {
  const settings = resolveOptions("perplexity", options, { ignore: option.integer({ default: -100 }) });
  const entropy = labelMean(
    // Masked, so that a logit that is no number where nothing counts stays out.
    (outputs, { label, weight }) =>
      crossEntropy(outputs, label, { mask: np.notEqual(weight, 0), reduction: "none" }),
    settings.ignore,
  );
  return { ...entropy, value: ({ sum, count }) => np.exp(ratio(sum, count)) };
}

/** Of each class: decisions for it that were right, all decisions for it, and how often it was the label. */
type ClassCounts = { readonly hits: Value; readonly chosen: Value; readonly actual: Value };

/** A metric of how often classes were chosen and right. */
function classScores(
  kind: string,
  options: AverageMetricOptions,
  score: (counts: ClassCounts) => Value,
): SetMetric<ClassCounts> {
  const { ignore: skip, average, threshold, multiLabel } = resolveOptions(kind, options, averageTable);
  return {
    sums: true,
    init: (set) => {
      const classes = multiLabel ? (set.outputs.shape.at(-1) as number) : classesOf(set);
      if (average === "binary" && classes < 2)
        throw new EspalierError("OPTION_INVALID", `${kind}: average is "binary", and there is one class`, {
          fix: "leave average out",
        });
      const none = () => np.zeros([classes]);
      return { hits: none(), chosen: none(), actual: none() };
    },
    add: (state, outputs, y, weight) => {
      const classes = state.hits.shape[0] as number;
      const sum = (x: Value): Value => np.sum(x.reshape([-1, classes]), { axis: 0 });
      const [yes, actual, weights] = multiLabel
        ? eachLabel(outputs, y, weight, skip, threshold)
        : oneLabel(outputs, labelsOf(outputs, y, weight, skip), classes, threshold);
      return {
        hits: state.hits.add(sum(yes.mul(actual).mul(weights))),
        chosen: state.chosen.add(sum(yes.mul(weights))),
        actual: state.actual.add(sum(actual.mul(weights))),
      };
    },
    value: (counts) => {
      const classes = counts.hits.shape[0] as number;
      const how = average ?? (classes === 2 && !multiLabel ? "binary" : "macro");
      if (how === "micro") {
        const sum = (x: Value): Value => np.sum(x);
        return score({ hits: sum(counts.hits), chosen: sum(counts.chosen), actual: sum(counts.actual) });
      }
      const each = score(counts);
      if (how === "binary") return np.take(each, 1);
      if (how === "none")
        return Object.fromEntries(Array.from({ length: classes }, (_, i) => [`class${i}`, np.take(each, i)]));
      const weights =
        how === "weighted"
          ? counts.actual
          : np.greater(counts.actual.add(multiLabel ? 1 : counts.chosen), 0).astype("f32");
      return ratio(np.sum(each.mul(weights)), np.sum(weights));
    },
  };
}

/** Decisions, labels and weights as f32 with an axis of classes. */
function oneLabel(
  outputs: Value,
  { label, weight }: Labels,
  classes: number,
  threshold?: number,
): readonly [Value, Value, Value] {
  const hot = (x: Value): Value => np.oneHot(x, classes, { dtype: "f32" });
  return [hot(chosen(outputs, label, threshold)), hot(label), np.expandDims(weight, -1)];
}

function eachLabel(
  outputs: Value,
  y: Value,
  weight: Value | undefined,
  skip?: number,
  threshold?: number,
): readonly [Value, Value, Value] {
  const counts = skip === undefined ? np.full([], 1, { dtype: "bool" }) : np.notEqual(y, skip);
  const weights = np.where(counts, spread(weight, y.shape), 0);
  const actual = np.where(counts, np.greater(y, 0), np.full([], 0, { dtype: "bool" })).astype("f32");
  return [isYes(outputs, threshold).astype("f32"), actual, weights];
}

/**
 * The share of decisions for a class that were right.
 *
 * @example
 * ```ts
 * supervisedTask({ ..., metrics: { precision: precision(), recall: recall(), f1: f1({ average: "weighted" }) } });
 * ```
 */
export const precision = (options: AverageMetricOptions = {}): SetMetric<ClassCounts> =>
  classScores("precision", options, ({ hits, chosen }) => ratio(hits, chosen));

/** The share of a class's examples that were found. */
export const recall = (options: AverageMetricOptions = {}): SetMetric<ClassCounts> =>
  classScores("recall", options, ({ hits, actual }) => ratio(hits, actual));

/** The harmonic mean of {@link precision} and {@link recall}. */
export const f1 = (options: AverageMetricOptions = {}): SetMetric<ClassCounts> =>
  classScores("f1", options, ({ hits, chosen, actual }) => ratio(hits.mul(2), chosen.add(actual)));

/** A metric whose value is a table of classes. */
export interface ConfusionMatrix extends SetMetric<Value> {
  readonly names: readonly string[] | undefined;
}

/**
 * How often each class (rows) was taken for each (columns). Its table is drawn and filed by `confusionMatrixHook`, which
 * `supervisedTrainer` adds.
 *
 * @example
 * ```ts
 * supervisedTrainer({ ..., metrics: { accuracy, confusion: confusionMatrix({ names: ["cat", "dog"] }) } });
 * ```
 */
export function confusionMatrix(options: Options<typeof confusionTable> = {}): ConfusionMatrix {
  const settings = resolveOptions("confusionMatrix", options, confusionTable);
  return {
    names: settings.names,
    sums: true,
    init: (set) => {
      const classes = classesOf(set);
      if (settings.names && settings.names.length !== classes)
        throw new EspalierError(
          "OPTION_INVALID",
          `confusionMatrix: there are ${settings.names.length} names and ${classes} classes`,
          { fix: "name every class, in the order of the model's outputs" },
        );
      return np.zeros([classes, classes]);
    },
    add: (counts, outputs, y, weight) => {
      const classes = counts.shape[0] as number;
      const labels = labelsOf(outputs, y, weight, settings.ignore);
      const [taken, actual, weights] = oneLabel(outputs, labels, classes);
      const rows = (x: Value): Value => x.reshape([-1, classes]);
      return counts.add(np.matmul(np.transpose(rows(actual.mul(weights))), rows(taken)));
    },
    value: (counts) => counts,
  };
}

const confusionTable = {
  ...classTable,
  /** Names of the classes, for the table. Default: their numbers. */
  names: option.made<readonly string[]>("names of the classes", Array.isArray, {}),
};

// --- Ranking -------------------------------------------------------------------------------------------------------

/** Every score, where there is room for all. */
type Scores = {
  readonly scores: Value;
  readonly positive: Value;
  readonly weights: Value;
  readonly at: Value;
};
/** Or counts of probabilities in bins. */
type Bins = { readonly positive: Value; readonly negative: Value };

/**
 * The area under the ROC curve: how often an example of the class has a greater score than one of the others, ties
 * counting half. With more than two classes, the mean over each class against the rest. Exact where the number of
 * examples is known; otherwise to about one part in 1,024. NaN where a class has no examples, or nothing else.
 */
export function auc(options: Options<typeof aucTable> = {}): SetMetric<Scores | Bins> {
  const { ignore: skip, multiLabel } = resolveOptions("auc", options, aucTable);
  const columnsOf = (set: MetricSet): number => {
    if (multiLabel) return set.outputs.shape.at(-1) as number;
    const classes = classesOf(set);
    return classes === 2 ? 1 : classes;
  };
  /** Scores, yes or no, and weights: [labels, columns]. */
  const parts = (outputs: Value, y: Value, weight: Value | undefined, columns: number) => {
    const rows = (x: Value): Value => x.astype("f32").reshape([-1, columns]);
    if (multiLabel) {
      const [, actual, weights] = eachLabel(outputs, y, weight, skip);
      return [rows(outputs), rows(actual), rows(weights)] as const;
    }
    const labels = labelsOf(outputs, y, weight, skip);
    const flat = labels.weight.reshape([-1, 1]);
    if (columns > 1)
      return [
        rows(functions.softmax(outputs.astype("f32"))),
        rows(np.oneHot(labels.label, columns, { dtype: "f32" })),
        np.broadcastTo(flat, [flat.size, columns]),
      ] as const;
    const logits = outputs.astype("f32").reshape([flat.size, -1]);
    const wide = logits.shape[1] === 2;
    const score = wide ? np.take(logits, 1, { axis: 1 }).sub(np.take(logits, 0, { axis: 1 })) : logits;
    return [rows(score), rows(labels.label), flat] as const;
  };
  return {
    init: (set) => {
      const columns = columnsOf(set);
      if (set.examples === undefined)
        return { positive: np.zeros([bins, columns]), negative: np.zeros([bins, columns]) };
      const own = multiLabel ? set.y.shape.slice(0, -1) : labelShape(set.outputs.shape, set.y.shape);
      const labels = own.slice(1).reduce((a, b) => a * b, set.examples);
      const none = () => np.zeros([labels, columns]);
      return { scores: none(), positive: none(), weights: none(), at: np.zeros([], { dtype: "i32" }) };
    },
    add: (state, outputs, y, weight) => {
      const columns = state.positive.shape[1] as number;
      const [scores, yes, weights] = parts(outputs, y, weight, columns);
      if (!("scores" in state)) {
        const share = columns > 1 && !multiLabel ? scores : functions.sigmoid(scores);
        const bin = np.clip(np.floor(share.mul(bins)), 0, bins - 1).astype("i32");
        const counts = np.oneHot(bin, bins, { dtype: "f32", axis: 0 });
        return {
          positive: state.positive.add(np.sum(counts.mul(yes.mul(weights)), { axis: 1 })),
          negative: state.negative.add(np.sum(counts.mul(np.subtract(1, yes).mul(weights)), { axis: 1 })),
        };
      }
      const put = (all: Value, part: Value): Value => np.dynamicUpdateSlice(all, part, [state.at, 0]);
      return {
        scores: put(state.scores, scores),
        positive: put(state.positive, yes.mul(weights)),
        weights: put(state.weights, weights),
        at: state.at.add(scores.shape[0] as number),
      };
    },
    value: (state) => {
      const areas =
        "scores" in state
          ? vmap(areaOfScores, { inAxes: 1 })(state.scores, state.positive, state.weights.sub(state.positive))
          : vmap(areaOfBins, { inAxes: 1 })(state.positive, state.negative);
      return np.mean(areas);
    },
  };
}

const aucTable = {
  ...classTable,
  /** Outputs and targets are one yes or no for each of several labels. Default: false. */
  multiLabel: option.flag({ default: false }),
};

/** Bins of probabilities, where the number of examples is not known. */
const bins = 1024;

/** Pairs of a positive and a negative that are in the right order, as a share of all; ties are half. */
function areaOfScores(scores: Value, positive: Value, negative: Value): Value {
  const order = np.argsort(scores);
  const [s, yes, no] = [scores, positive, negative].map((x) => np.take(x, order)) as [Value, Value, Value];
  const upTo = np.cumsum(no);
  const apart = np.notEqual(np.slice(s, [1, s.size]), np.slice(s, [0, s.size - 1]));
  const edge = np.full([1], 1, { dtype: "bool" });
  // Negatives before and up to the end of the group of equal scores that each belongs to.
  const before = np.cummax(np.where(np.concatenate([edge, apart]), upTo.sub(no), 0));
  const ends = np.where(np.concatenate([apart, edge]), upTo, np.inf);
  const until = np.flip(np.cummin(np.flip(ends)));
  const pairs = np.sum(yes.mul(before.add(until)).mul(0.5));
  return pairs.div(np.sum(yes).mul(np.sum(no)));
}

const areaOfBins = (positive: Value, negative: Value): Value => {
  const pairs = np.sum(positive.mul(np.cumsum(negative).sub(negative.mul(0.5))));
  return pairs.div(np.sum(positive).mul(np.sum(negative)));
};

// --- Numbers -------------------------------------------------------------------------------------------------------

/** Sums by output, from which all three metrics of numbers follow. */
type NumberSums = {
  readonly count: Value;
  /** Of absolute errors, and of squared ones. */
  readonly absolute: Value;
  readonly squared: Value;
  /** The targets' mean, and the sum of squared distances to it. */
  readonly mean: Value;
  readonly apart: Value;
};

/** As scikit-learn's: of each output by itself, then the mean over outputs. */
const ofNumbers = (value: (sums: NumberSums) => Value, sums = false): SetMetric<NumberSums> => ({
  sums,
  init: ({ outputs }) => {
    const none = () => np.zeros([outputs.shape.length > 1 ? (outputs.shape.at(-1) as number) : 1]);
    return { count: none(), absolute: none(), squared: none(), mean: none(), apart: none() };
  },
  add: (state, outputs, y, weight) => {
    const columns = state.count.shape[0] as number;
    const rows = (x: Value): Value => x.astype("f32").reshape([-1, columns]);
    const weights = rows(spread(weight, y.size === outputs.size ? outputs.shape : y.shape));
    const targets = rows(y);
    const error = rows(outputs).sub(targets);
    const sum = (x: Value): Value => np.sum(np.where(np.equal(weights, 0), 0, x.mul(weights)), { axis: 0 });
    // Means and squared distances of both parts together, by Chan, Golub and LeVeque.
    const here = np.sum(weights, { axis: 0 });
    const mean = ratio(sum(targets), here);
    const [count, step] = [state.count.add(here), mean.sub(state.mean)];
    const part = ratio(here, count);
    return {
      count,
      absolute: state.absolute.add(sum(np.abs(error))),
      squared: state.squared.add(sum(np.square(error))),
      mean: state.mean.add(step.mul(part)),
      apart: state.apart
        .add(sum(np.square(targets.sub(mean))))
        .add(np.square(step).mul(state.count).mul(part)),
    };
  },
  value: (sums) => np.mean(value(sums)),
});

/** The mean absolute error. */
export const mae = (): SetMetric<NumberSums> =>
  ofNumbers(({ absolute, count }) => ratio(absolute, count), true);

/** The root of the mean squared error. */
export const rmse = (): SetMetric<NumberSums> =>
  ofNumbers(({ squared, count }) => np.sqrt(ratio(squared, count)), true);

/** The share of the targets' variance that the outputs explain: 1 is exact, 0 is no better than the mean. */
export const r2 = (): SetMetric<NumberSums> =>
  ofNumbers(({ squared, apart }) => {
    const flat = np.where(np.equal(squared, 0), 1, np.zerosLike(squared));
    return np.where(np.equal(apart, 0), flat, np.subtract(1, ratio(squared, apart)));
  });
