import {
  didYouMean,
  EspalierError,
  numberText,
  type Options,
  option,
  resolveOptions,
  type Settings,
} from "../core/index.ts";
import type { Ramp } from "../schedule/index.ts";
import { type Task, Trainer, type TrainerHook, type TrainingConfig } from "../trainer/index.ts";

const table = {
  /** The first rate. Default: 1e-7. */
  from: option.number({ above: 0, default: 1e-7 }),
  /** The last rate. Default: 10. */
  to: option.number({ above: 0, default: 10 }),
  /** Updates from the first to the last. Default: 100. */
  updates: option.integer({ min: 10, default: 100 }),
  /** The share of the old value in the moving average of losses. Default: 0.9. */
  smoothing: option.number({ min: 0, below: 1, default: 0.9 }),
  /** The loss has diverged where its average is above this many times the least. Default: 4. */
  diverged: option.number({ above: 1, default: 4 }),
  /** The ramp of the task that is the rate. Default: "learningRate". */
  rate: option.text({ default: "learningRate" }),
  /** The configuration that the task would be trained with: its seed and `deterministic` count. */
  config: option.made<Partial<TrainingConfig>>("an object such as { seed: 1 }", () => true, {}),
};

/** Options of {@link findLearningRate}. */
export interface LearningRateOptions extends Options<typeof table> {}

/** The losses of a range test, and the rates that they speak for. */
export interface LearningRateCurve {
  readonly rates: readonly number[];
  readonly losses: readonly number[];
  /** The moving average of the losses. */
  readonly smoothed: readonly number[];
  /** The rate at which the loss fell fastest; undefined where it fell nowhere. */
  readonly steepest: number | undefined;
  /** A tenth of the rate with the least loss. */
  readonly belowMinimum: number;
  /** The rate to try: `steepest`; undefined where the loss fell nowhere. */
  readonly suggestion: number | undefined;
  /** The loss diverged before the last rate was reached. */
  readonly diverged: boolean;
  /** The curve for a terminal. */
  text(size?: { readonly width?: number; readonly height?: number }): string;
  /** The curve as an image. */
  svg(): string;
}

type RangeTest = Settings<typeof table>;

/**
 * Finds a learning rate: a range test, after Smith (2017). The rate rises from update to update by the same factor until
 * the loss diverges, and the curve shows where it falls. Afterwards parameters, optimizer, data and random streams are
 * as they were.
 *
 * ```
 * states = those of all components
 * for each update:  rate = from * (to / from)^(i / (updates - 1))      task.run, with the rate as an input
 *                   average of losses; it ends where it is not finite or above 4 times the least
 * components get their states back
 * steepest = where the average falls fastest over log(rate)
 * ```
 *
 * @example
 * ```ts
 * const curve = await findLearningRate(task);
 * console.log(curve.text());
 * const config = { learningRate: curve.suggestion };
 * ```
 */
export async function findLearningRate(
  task: Task,
  options: LearningRateOptions = {},
): Promise<LearningRateCurve> {
  const settings = resolveOptions("findLearningRate", options, table);
  const { rate, from, to } = settings;
  if (!(to > from))
    throw new EspalierError("OPTION_INVALID", `findLearningRate: the rate is to rise from ${from} to ${to}`, {
      fix: "give a greater `to`",
    });
  if (!(rate in task.ramps)) {
    const names = Object.keys(task.ramps);
    throw new EspalierError(
      "RAMP_UNKNOWN",
      `findLearningRate: the task has no "${rate}"${didYouMean(rate, names)}`,
      { fix: `name in \`rate\` one of its ramps: ${names.join(", ") || "there are none"}` },
    );
  }
  const before = await Promise.all(
    Object.values(task.components).map(async (part) => [part, await part.getState()] as const),
  );
  try {
    return curveOf(settings, await losses(task, settings));
  } finally {
    for (const [part, state] of before) await part.setState(state);
  }
}

/** The losses of updates with rising rates, up to the first that has diverged, or a few more. */
async function losses(task: Task, settings: RangeTest): Promise<readonly number[]> {
  const { rate, from, to, updates: maxUpdates } = settings;
  const found: number[] = [];
  const rising: Ramp = {
    units: ["updates"],
    at: ({ updates }) => rateAt(settings, updates),
    describe: () => `rising from ${from} to ${to}`,
  };
  const watch: TrainerHook = {
    name: "losses",
    onBatchesEnd: async ({ values, stop }) => {
      if (values?.phase("loss") !== "train") return;
      found.push(...((await values.read()).loss ?? []));
      if (divergence(settings, found) >= 0) stop("the loss has diverged");
    },
  };
  await new Trainer({
    // The task's own hooks, its end and its validation are left out: they belong to its own run.
    task: {
      components: task.components,
      sampleUnit: task.sampleUnit,
      stepUnit: task.stepUnit,
      ramps: { ...task.ramps, [rate]: rising },
      ...(task.counters && { counters: task.counters }),
      begin: (run) => task.begin?.(run),
      epoch: (at) => task.epoch(at),
      run: (request) => task.run(request),
      snapshot: (names) => task.snapshot(names),
    },
    config: {
      ...settings.config,
      epochs: Number.POSITIVE_INFINITY,
      maxUpdates,
      fuse: 8,
      onNonFinite: "ignore",
      handleSignals: false,
    },
    hooks: [watch],
    warn: () => undefined,
  }).train();
  return found;
}

const rateAt = ({ from, to, updates }: RangeTest, update: number): number =>
  from * (to / from) ** (update / (updates - 1));

/** Moving averages, corrected for their beginning. */
function smooth({ smoothing }: RangeTest, found: readonly number[]): readonly number[] {
  let average = 0;
  return found.map((loss, i) => {
    average = smoothing * average + (1 - smoothing) * loss;
    return average / (1 - smoothing ** (i + 1));
  });
}

/** The index of the first update after which the loss has diverged. */
function divergence(settings: RangeTest, found: readonly number[]): number {
  let least = Number.POSITIVE_INFINITY;
  return smooth(settings, found).findIndex((value) => {
    least = Math.min(least, value);
    return (
      !Number.isFinite(value) || value > least + (settings.diverged - 1) * Math.max(Math.abs(least), 1e-6)
    );
  });
}

function curveOf(settings: RangeTest, found: readonly number[]): LearningRateCurve {
  const end = divergence(settings, found);
  const kept = end < 0 ? found : found.slice(0, end);
  if (found.length === 0)
    throw new EspalierError("METRIC_MISSING", "findLearningRate: the task reports no loss", {
      fix: "have it report `loss`, one number an update",
    });
  if (kept.length < 3)
    throw new EspalierError(
      "LOSS_DIVERGED",
      `findLearningRate: the loss was ${found.slice(0, 3).join(", ")} at the first rates, from ${settings.from} on`,
      { fix: "begin with a lower rate, from: 1e-10, and check the data and the loss" },
    );
  const smoothed = smooth(settings, kept);
  const rates = kept.map((_, i) => rateAt(settings, i));
  const lowest = smoothed.indexOf(Math.min(...smoothed));
  const belowMinimum = (rates[lowest] as number) / 10;
  const steepest = rates[steepestAt(smoothed)];
  const drawn = { rates, smoothed, steepest, belowMinimum };
  return {
    ...drawn,
    losses: kept,
    suggestion: steepest,
    diverged: end >= 0,
    text: (size) => curveText(drawn, size),
    svg: () => curveSvg(drawn),
  };
}

/** Where the average falls fastest; -1 where it falls nowhere. The first averages are of few losses, and do not count. */
function steepestAt(smoothed: readonly number[]): number {
  let [at, least] = [-1, 0];
  for (let i = Math.min(5, smoothed.length >> 2) + 1; i < smoothed.length - 1; i++) {
    const slope = (smoothed[i + 1] as number) - (smoothed[i - 1] as number);
    if (slope < least) [at, least] = [i, slope];
  }
  return at;
}

type Drawn = Pick<LearningRateCurve, "rates" | "smoothed" | "steepest" | "belowMinimum">;

/** Places of a curve from 0 to 1, both ways, the rate by its logarithm. */
function placesOf({ rates, smoothed }: Drawn) {
  const [low, high] = [Math.log(rates[0] as number), Math.log(rates.at(-1) as number)];
  const [least, most] = [Math.min(...smoothed), Math.max(...smoothed)];
  return {
    least,
    most,
    x: (rate: number) => (Math.log(rate) - low) / (high - low || 1),
    y: (value: number) => (value - least) / (most - least || 1),
  };
}

const rateText = (rate: number): string => numberText(rate, { digits: 2 });

function captionOf({ steepest, belowMinimum }: Drawn): string {
  return steepest === undefined
    ? "the loss fell at no rate"
    : `falls fastest at ${rateText(steepest)} (|), a tenth of the rate of the least loss is ${rateText(belowMinimum)} (:)`;
}

function curveText(
  curve: Drawn,
  { width = 64, height = 14 }: { readonly width?: number; readonly height?: number } = {},
): string {
  const { rates, smoothed, steepest, belowMinimum } = curve;
  const { x, y, least, most } = placesOf(curve);
  const rows = Array.from({ length: height }, () => new Array<string>(width).fill(" "));
  const column = (rate: number): number => Math.round(x(rate) * (width - 1));
  const draw = (rate: number | undefined, mark: string): void => {
    if (rate !== undefined) for (const row of rows) row[column(rate)] = mark;
  };
  draw(belowMinimum, ":");
  draw(steepest, "|");
  for (const [i, rate] of rates.entries()) {
    const row = rows[Math.round((1 - y(smoothed[i] as number)) * (height - 1))];
    if (row) row[column(rate)] = "*";
  }
  const labels = rows.map((_, i) => (i === 0 ? numberText(most) : i === height - 1 ? numberText(least) : ""));
  const margin = Math.max(...labels.map(({ length }) => length));
  const [first, last] = [rateText(rates[0] as number), rateText(rates.at(-1) as number)];
  const axis = `${first}${"learning rate".padStart((width - first.length) / 2 + 6)}`;
  return [
    ...rows.map((row, i) => `${(labels[i] as string).padStart(margin)} ${row.join("")}`.trimEnd()),
    `${" ".repeat(margin + 1)}${axis.padEnd(width - last.length)}${last}`,
    captionOf(curve),
  ].join("\n");
}

function curveSvg(curve: Drawn): string {
  const [width, height, margin] = [640, 400, 56];
  const { rates, smoothed, steepest, belowMinimum } = curve;
  const { x, y, least, most } = placesOf(curve);
  const across = (rate: number): string => (margin + x(rate) * (width - 2 * margin)).toFixed(1);
  const up = (value: number): string => (height - margin - y(value) * (height - 2 * margin)).toFixed(1);
  const text = (at: string, down: string | number, words: string, anchor = "middle"): string =>
    `<text x="${at}" y="${down}" text-anchor="${anchor}">${words}</text>`;
  const line = (rate: number | undefined, color: string): string =>
    rate === undefined
      ? ""
      : `<line x1="${across(rate)}" x2="${across(rate)}" y1="${margin}" y2="${height - margin}" stroke="${color}" stroke-dasharray="4"/>`;
  const [low, high] = [rates[0] as number, rates.at(-1) as number];
  const decades: number[] = [];
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power++) decades.push(10 ** power);
  const points = rates.map((rate, i) => `${across(rate)},${up(smoothed[i] as number)}`).join(" ");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    "<title>The loss over the learning rate</title>",
    `<rect width="${width}" height="${height}" fill="white"/>`,
    `<rect x="${margin}" y="${margin}" width="${width - 2 * margin}" height="${height - 2 * margin}" fill="none" stroke="#999"/>`,
    ...decades.map((rate) => text(across(rate), height - margin + 18, rate.toExponential(0))),
    ...[least, most].map((value) => text(String(margin - 6), up(value), numberText(value), "end")),
    text(String(width / 2), height - 12, "learning rate"),
    line(belowMinimum, "#c80"),
    line(steepest, "#080"),
    `<polyline points="${points}" fill="none" stroke="#06c" stroke-width="2"/>`,
    text(String(width / 2), margin / 2, captionOf(curve).replace(/ \([|:]\)/g, "")),
    "</svg>",
  ].join("\n");
}
